// Package debug answers questions about a node over HTTP (experimental):
//
//	/          what can be asked, a line each
//	/healthz   "ok", or 503 with the faults, a line each; with ?verbose and the faults of
//	           manifests, in spite of which a node is healthy
//	/readyz    "ok" for a node that is ready, or 503 with what it waits for
//	/pods      every pod of the node with its newest status, a v1.PodList in JSON
//	/faults    the faults of manifests that stand now, in JSON; it needs Config.Faults
//	/explain/NAMESPACE/NAME
//	           why a pod is as it is, as a page for people; in JSON with ?format=json,
//	           or if the request's Accept prefers it; 404 for an unknown pod
//	/timeline/NAMESPACE/NAME
//	           the life of a pod, drawn on an HTML page that asks for nothing else; it
//	           needs Config.Timeline; 404 for an unknown pod; /timeline lists the paths
//	/logs/NAMESPACE/POD[/CONTAINER]?follow&tail=N&since=10m&previous
//	           a container's log, as it comes; since is a duration or a time. It needs
//	           Config.Logs; 501 where the runtime keeps no logs
//	/metrics, /metrics/resource, /stats/summary
//	           metrics and usage, as far as Config has handlers for them
//	POST /exec/NAMESPACE/POD[/CONTAINER]?command=ls&command=-l
//	           runs a command without input and sends its output as it comes; the exit
//	           code is in the trailer Podkeel-Exit-Code. It needs Config.Exec
//
// Without CONTAINER it is the one that kubectl would choose. An answer that was cut short
// has the trailer Podkeel-Error with the reason. At most 64 logs are read and 16 commands
// run at once; each ends when its client has gone, or has read nothing for half a minute.
// An explanation is bounded by the containers of the pod and the events that the node
// remembers.
//
// It is an http.Handler; the caller decides where to listen. All routes but /exec only read
// (GET and HEAD). None asks for credentials, and /pods shows environments, so listen on
// loopback unless something in front of it decides about access.
//
// # Rejected requests
//
// Every route, also an unknown one, rejects
//
//   - a request whose Host is a name other than localhost and Config.Hosts, with 403,
//     because a page can make its own name lead to this machine (DNS rebinding); IP
//     addresses and unix sockets are allowed;
//   - a request with an Origin, or with a Sec-Fetch-Site other than none, with 403: it
//     comes from a page in a browser;
//   - a request with a body, with 413.
//
// /exec also rejects every client that is not on a loopback address or asks for a host that
// is not, and every request with a header by which proxies name their clients, such as
// X-Forwarded-For.
//
// [NewHealth] makes a handler of health and metrics alone, for an address that other users of
// the machine can reach.
//
// [Server] serves the handler with timeouts and a limit on connections.
package debug
