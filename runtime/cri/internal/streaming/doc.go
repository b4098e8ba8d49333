// Package streaming connects with the streaming server of a CRI runtime: the
// address that CRI's Exec, Attach and PortForward return. It speaks SPDY/3.1, with
// the protocols v4.channel.k8s.io and portforward.k8s.io over it; v5 differs only on
// websockets, where its answer to the end of input is what SPDY has anyway.
//
// # What ends
//
// A call ends with its context, with its process, or with an error of whoever takes
// the output. Its connection is closed then, and what it started has ended, but for
// a Read of the caller's input that has begun, and, if the server never answered, for
// a wait of half a minute in the library.
//
// # Trust
//
// The address names a token by which anybody can run what was asked for, so it is
// dialed in the clear on a loopback address only, without proxies and without
// following redirections. What the server says of itself is bounded.
package streaming
