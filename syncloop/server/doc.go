// Package server is the node's API: what kubectl, by way of the API server, asks a node
// (experimental).
//
//	/healthz                                          "ok", or 500
//	/pods                                             every pod of the node, a v1.PodList in JSON
//	/containerLogs/NAMESPACE/POD/CONTAINER            a log: follow, previous, tailLines, sinceSeconds,
//	                                                  sinceTime, timestamps, limitBytes
//	/exec/NAMESPACE/POD[/UID]/CONTAINER               a command: command (repeated), input, output, error, tty
//	/attach/NAMESPACE/POD[/UID]/CONTAINER             the container's own process
//	/servePortForward/NAMESPACE/POD[/UID]                  connections to ports of the pod
//	/configz                                          the effective configuration: {"kubeletconfig": {...}}
//	/metrics  /metrics/resource  /stats/summary       as far as Config has handlers for them
//
// Commands, attached processes and ports stream over SPDY/3.1, with the protocols v4.channel.k8s.io and
// portforward.k8s.io, to which API servers and kubectl translate everything else as long as
// the node does not declare a feature for WebSocket. What a kubelet serves beyond that is
// answered with 501, an unknown path with 404, each with one sentence.
//
// It is an http.Handler; the caller listens, with TLS, and ends streams by the end of the
// requests' context: http.Server.BaseContext, as a stream outlives http.Server.Close.
//
// # Access
//
// Only /healthz is served to everyone, without a reason for what is wrong. Any other request, for an
// unknown path too, needs a user from the Authenticator, else it is 401. A method that a path does not
// take is 405, with those that it takes in the header Allow. All else needs a right of that user from the
// Authorizer, else it is 403: the verb of the method on the resource nodes with the name of the node,
// subresource pods or proxy for /pods, configz or proxy for /configz, metrics or stats for all below
// /metrics or /stats, and proxy for the rest. Commands, attaching and port-forwarding always need the verb
// create, whatever the method, so that the right to get nodes/proxy does not run commands.
//
// # Bounds
//
// At most 128 logs are read and 64 commands run, attached processes included; 64 clients
// forward ports, each over at most 128 connections at once. A stream ends with its request's
// context, with its client, with its process, or after 4 hours without a byte. Of what a client
// sends, and that no process reads, 800 KiB are kept for each stream: then the client has to
// wait. A client that takes nothing of a log for half a minute loses it. Streams that were announced have to be
// opened within 30 seconds. Served by debug.Server, a connection whose client was not accepted
// is the first to be closed when there are too many.
package server
