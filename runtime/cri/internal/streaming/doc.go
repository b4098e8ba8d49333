// Package streaming connects to the streaming server of a CRI runtime, with the URL that Exec,
// Attach and PortForward of CRI return. It uses SPDY/3.1 with the protocols v4.channel.k8s.io and
// portforward.k8s.io.
//
// A call ends with its context, with its process, or with an error of the writer of the output. It
// then closes its connection. Two things may last longer: a pending Read of the caller's input,
// and, if the server never responds, a wait of half a minute in the library.
//
// The URL contains a token with which any process can run the requested command. The package
// therefore only dials loopback addresses, uses no proxy and follows no redirect. The size of what
// the server sends in headers and errors is limited.
//
// The framing comes from k8s.io/streaming. remotecommand of client-go implements the protocols too,
// but it would add client-go to every node on a CRI runtime.
package streaming
