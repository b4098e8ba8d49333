// Package client is apiserver.Server by client-go: what a node asks of a real Kubernetes API server
// (experimental). It is the only package that imports client-go.
//
//	c, err := client.FromKubeconfig("/etc/podkeel/kubeconfig", "node-1")
//	pods, err := c.PodFeed().List(ctx, "")
//
// The credentials are those of a node: user system:node:<name>, group system:nodes.
//
// # Calls
//
// Each call is one HTTP request: nothing is repeated and nothing waits for a rate limit, but for
// a call whose token was refused while the token file has another one.
// Objects travel as protobuf. Refusals are errors of apimachinery, as client-go has them;
// a status patch whose UID is another incarnation's has reason Conflict, where the server
// says Invalid.
//
// # Connections
//
// A call ends with its context, and also when there is no connection within 10 s or no
// answer begins within 30 s. Heartbeats, which are the calls of Leases, have connections
// of their own and 10 s for an answer. Connections are HTTP/2 where the server has it;
// one that is silent for 15 s is probed, and closed 10 s later. Calls that begin while there
// is none wait for the first of them to open one. After a failure of a
// connection, and after a call that has run into its deadline, new calls get new
// connections; Reconnect does that by hand. Streams under way keep theirs.
//
// If the certificate of the client is in files, they are read again every ten seconds while
// there are calls. When they have changed, new calls get new connections with the new one.
//
// A bearer token in a file is read again every ten seconds while there are calls, and when the server
// answers 401, at most once a second. A refused call is then sent once more with the new token.
//
// Clients of several nodes of one process share connections: ForNode with the credentials as
// they are, Impersonate as the user that each node has.
//
// New starts nothing. Streams need no goroutine of this package.
package client
