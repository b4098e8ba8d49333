// Package hookhttp sends the requests of HTTP hooks: it is a podsync.HTTPGetter over net/http
// (experimental).
//
// Any answer is a success, whatever its status. No answer, or one that breaks off before
// its header is complete, is an error. A request ends with its context. At most 10 KiB of a
// body are read. A request leaves no connection, session or cookie behind.
//
// As in the kubelet, certificates are not verified. A server that answers an https request
// in plain HTTP is asked again in plain HTTP, without the Authorization header. Redirects
// are followed within the host, ten at most; one to another host counts as an answer.
package hookhttp
