// Package client implements apiserver.Server with client-go (experimental). It sends the requests of a node to a
// real Kubernetes API server. It is the only package that imports client-go.
//
//	c, err := client.FromKubeconfig("/etc/podkeel/kubeconfig", "node-1")
//	pods, err := c.PodFeed().List(ctx, "")
//
// The credentials must belong to a node: user system:node:<name>, group system:nodes.
//
// # Calls
//
// Each call is one HTTP request without retries and without a rate limit. The one exception: if the server
// refuses a token and the token file has a newer one, the call is sent again. Objects are encoded as protobuf.
// Errors are apimachinery errors, as in client-go. A status patch with the UID of another incarnation returns
// reason Conflict, although the server responds with Invalid.
//
// # Connections
//
// A call returns when its context is done, when no connection opens within 10 s, or when no response begins
// within 30 s. Heartbeats, the calls of Leases, have their own connections and a timeout of 10 s. Connections
// use HTTP/2 if the server supports it. A connection that is silent for 15 s gets a ping, and is closed 10 s
// later without a reply. While there is no connection, concurrent calls wait for the first one to open it.
// After a failed connection or a timeout, new calls use new connections; Reconnect does the same on demand.
// Running streams keep their connection.
//
// If the client certificate is in files, the client reads them again every ten seconds while there are calls.
// After a change, new calls use new connections with the new certificate.
//
// If the bearer token is in a file, the client reads it again every ten seconds while there are calls, and
// after a response 401, at most once a second. A refused call is then sent once more with the new token.
//
// Clients of several nodes in one process can share connections: ForNode keeps the credentials, Impersonate
// uses the user of each node.
//
// New starts no goroutine, and streams need none of this package.
package client
