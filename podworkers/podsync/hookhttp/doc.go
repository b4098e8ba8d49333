// Package hookhttp makes the requests of http hooks: it is a podsync.HTTPGetter
// over net/http.
//
// Any answer is a success, whatever its status: the hook has been told. That
// nobody answers, or that an answer breaks off before its header is complete,
// is an error. A request keeps nothing behind: no connection, no session, no
// cookie.
//
// # Statements kept
//
// KC-12 (a hook lasts as long as its context), F96 (at most 10 KiB of a body are
// read). Towards F84 connections linger for a second at most, where the system lets
// them.
//
// # As the kubelet does
//
//   - Certificates are not verified: a pod has none that somebody here could.
//   - A server that answers an https request in plain http is asked again in
//     plain http, without the Authorization header. Hooks were sent so once, and
//     some rely on it.
//   - Redirects are followed within the host, ten at most. One to another host is
//     an answer, like any other.
//
// # Differences from the kubelet, and why
//
//   - The proxy of the agent's environment is never used: a pod is on this node.
//   - The user agent is kube-lifecycle/podkeel.
package hookhttp
