// Package debug serves the state of a node over HTTP (experimental):
//
//	/          the paths, a line each
//	/healthz   "ok", or 503 with the errors, a line each; with ?verbose also the faults of
//	           manifests, which do not make a node unhealthy
//	/readyz    "ok" if the node is ready, or 503 and what the node waits for
//	/pods      every pod of the node with its newest status, a v1.PodList in JSON
//	/faults    the present faults of manifests, in JSON; it needs Config.Faults
//	/explain/NAMESPACE/NAME
//	           why a pod is in its state, as a page for people; in JSON with ?format=json,
//	           or if the request's Accept prefers it; 404 for an unknown pod
//	/timeline/NAMESPACE/NAME
//	           the timeline of a pod on an HTML page that loads no other resource; it needs
//	           Config.Timeline; 404 for an unknown pod; /timeline lists the paths
//	/logs/NAMESPACE/POD[/CONTAINER]?follow&tail=N&since=10m&previous
//	           the log of a container, as a stream; since is a duration or a time. It needs
//	           Config.Logs; 501 if the runtime cannot read logs
//	/metrics, /metrics/resource, /stats/summary
//	           metrics and resource usage, if Config has handlers for them
//	POST /exec/NAMESPACE/POD[/CONTAINER]?command=ls&command=-l
//	           runs a command without input and streams its output; the exit
//	           code is in the trailer Podkeel-Exit-Code. It needs Config.Exec
//
// Without CONTAINER the handler uses the container that kubectl would choose. A response that was
// cut short has the trailer Podkeel-Error with the reason. At most 64 logs are read and 16
// commands run at once. Each ends when its client disconnects, or reads nothing for half a
// minute.
//
// The handler is an http.Handler; the caller chooses the address. All routes except /exec only
// read (GET and HEAD). No route authenticates its clients, and /pods shows environment
// variables. So listen on a loopback address, or behind a proxy that controls access.
//
// # Rejected requests
//
// Every route, also an unknown one, rejects
//
//   - a request whose Host is a name other than localhost and Config.Hosts, with 403,
//     because a page can make its own name resolve to this machine (DNS rebinding); IP
//     addresses and Unix sockets are allowed;
//   - a request with an Origin, or with a Sec-Fetch-Site other than none, with 403, because
//     it comes from a page in a browser;
//   - a request with a body, with 413.
//
// /exec also rejects clients and hosts that are not loopback addresses, and requests with a
// header in which proxies name their clients, such as X-Forwarded-For.
//
// [NewHealth] makes a handler that serves only health and metrics, for an address that other
// users of the machine can reach.
//
// [Server] serves the handler with timeouts and a limit on connections.
package debug
