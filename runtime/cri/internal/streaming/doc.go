// Package streaming connects to the streaming server of a CRI runtime, whose address CRI's
// Exec, Attach and PortForward return. It speaks SPDY/3.1, with the protocols
// v4.channel.k8s.io and portforward.k8s.io over it.
//
// A call ends with its context, with its process, or with an error of the writer that takes
// the output. Then its connection is closed. Two things may last longer: a Read of the
// caller's input that has begun, and, if the server never answered, a wait of half a minute
// in the library.
//
// The address contains a token by which anybody can run the requested command. It is
// therefore dialed on a loopback address only, without proxies and without following
// redirections. What the server sends about itself is bounded.
//
// The framing is that of k8s.io/streaming. remotecommand of client-go has the protocols too, but would
// bring client-go to every node on a CRI runtime.
package streaming
