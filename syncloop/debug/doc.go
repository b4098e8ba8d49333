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
// It is an http.Handler and nothing more: who listens, and where, is the
// caller's business. It only reads (GET and HEAD), asks for no credentials and
// shows specs with their environment, so listen on loopback unless something in
// front of it decides who may look.
package debug
