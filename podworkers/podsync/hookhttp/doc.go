// Package hookhttp sends the requests of HTTP hooks: it is a podsync.HTTPGetter over net/http
// (experimental).
//
// Any response is a success, whatever its status. No response, or a response without a complete
// header, is an error. A request ends with its context. At most 10 KiB of a body are read. A
// request leaves no connection, session or cookie behind.
//
// As in the kubelet, certificates are not verified. If a server answers an https request in plain
// HTTP, the request is sent again in plain HTTP, without the Authorization header. Redirects are
// followed within the host, ten at most. A redirect to another host counts as the response.
package hookhttp
