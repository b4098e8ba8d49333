// Package debug answers questions about a node over HTTP:
//
//	/healthz   "ok", or 503 with what is wrong, a line each
//	/readyz    "ok" for a node that is ready, or 503 with what it waits for
//	/pods      every pod of the node with its newest status, a v1.PodList in JSON
//	/explain/NAMESPACE/NAME
//	           why a pod is as it is, as a page for people; in JSON with
//	           ?format=json, or if the request prefers it by its Accept; 404
//	           with a sentence for a pod that nobody knows
//
// An explanation is bounded: by the containers of the pod, and by how many things
// of its past the node remembers.
//
// With Config.Logs and Config.Exec people look closer. The container may be left
// out: it is the one that kubectl would take then.
//
//	/logs/NAMESPACE/POD[/CONTAINER]?follow&tail=N&since=10m&previous
//	           what a container has printed, sent as it comes; since is a
//	           duration or a time. 501 where the runtime keeps no logs
//	POST /exec/NAMESPACE/POD[/CONTAINER]?command=ls&command=-l
//	           runs a command without input, and sends what it prints, as it
//	           comes; its exit code is in the trailer Podkeel-Exit-Code. Off
//	           unless Config.Exec is set
//
// What is cut short has the trailer Podkeel-Error, which says why. 64 logs can be
// read and 16 commands run at once; each ends when whoever asked has gone, or has
// taken nothing for half a minute.
//
// It is an http.Handler; who listens, and where, is the caller's business. All but
// /exec only reads (GET and HEAD), asks for no credentials and shows specs with
// their environment, so listen on loopback unless something in front of it decides
// who may look.
//
// Errors are told without the names of packages with which they begin in Go.
//
// # Refusals
//
// Every route, those that do not exist included, refuses
//
//   - a request whose Host is a name that is neither localhost nor one of
//     Config.Hosts, with 403: a page can make its own name lead to this machine
//     (DNS rebinding). IP addresses are fine, and whatever comes over a socket in
//     the file system
//   - a request with an Origin, or with a Sec-Fetch-Site other than none, with 403:
//     it is that of a page in a browser
//   - a request with a body, with 413: no route reads one
//
// /exec refuses besides everybody who does not come from a loopback address, or asks
// for another host than such a one, and every page in a browser.
//
// [Server] serves the handler with timeouts and a bound on connections, so that a
// client that says nothing holds nothing for long.
package debug
