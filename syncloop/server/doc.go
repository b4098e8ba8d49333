// Package server is the HTTP API of a node, which an API server calls for kubectl (experimental).
//
//	/healthz                                          "ok", or 500
//	/pods                                             every pod of the node, a v1.PodList in JSON
//	/containerLogs/NAMESPACE/POD/CONTAINER            a log: follow, previous, tailLines, sinceSeconds,
//	                                                  sinceTime, timestamps, limitBytes
//	/exec/NAMESPACE/POD[/UID]/CONTAINER               a command: command (repeated), input, output, error, tty
//	/attach/NAMESPACE/POD[/UID]/CONTAINER             the container's own process
//	/portForward/NAMESPACE/POD[/UID]                  connections to ports of the pod
//	/configz                                          the effective configuration: {"kubeletconfig": {...}}
//	/metrics  /metrics/resource  /stats/summary       if Config has handlers for them
//
// Commands, attached processes and ports stream over SPDY/3.1, with the protocols v4.channel.k8s.io and
// portforward.k8s.io, or over a WebSocket, with the protocols of a kubelet:
//
//	exec, attach   v5.channel.k8s.io, if the client offers it; else v4.channel.k8s.io, v4.base64.channel.k8s.io,
//	               channel.k8s.io, base64.channel.k8s.io or no protocol
//	portForward    SPDY/3.1+portforward.k8s.io, if the client offers it; else v4.channel.k8s.io,
//	               v4.base64.channel.k8s.io or no protocol, with the query parameter port
//
// A client that offers no supported protocol gets 403. A node with this handler may declare the feature
// ExtendWebSocketsToKubelet; API servers then pass on each WebSocket, and otherwise translate v5.channel.k8s.io and
// the tunnel to SPDY. Other paths of a kubelet get 501, and unknown paths 404, each with one sentence.
//
// The handler is an http.Handler. The caller listens, with TLS. To stop streams the caller ends the context of
// the requests with http.Server.BaseContext, because http.Server.Close does not stop streams.
//
// # Access
//
// /healthz needs no authentication, and does not say why the node is unhealthy. Every other request, also for an
// unknown path, needs a user from the Authenticator, else the response is 401. A method that the path
// does not support gets 405, with the supported ones in the header Allow. Then the Authorizer must allow the
// request, else the response is 403. The attributes are the verb of the method, the resource nodes, the name of the
// node and a subresource: pods or proxy for /pods, configz or proxy for /configz, metrics for all paths below
// /metrics, stats for all paths below /stats, and proxy for all others. Commands, attaching and port
// forwarding need the verb create for every method, so that the right to get nodes/proxy does not permit them.
//
// # Limits
//
// At most 128 logs are read at once. At most 64 commands run at once, including attached processes. At most 64
// clients forward ports, each over at most 128 connections. A stream ends with the context of its request, with its
// client, with its process, or after 4 hours without traffic. If a process does not read its input, 800 KiB of it are
// buffered per stream; then the client must wait, in a WebSocket for all its channels. A WebSocket forwards at most
// 128 ports. A client that reads nothing of a log for half a minute is
// disconnected. A client must open announced streams within 30 seconds. If debug.Server serves the handler and
// has too many connections, it first closes connections of unauthorized clients.
package server
