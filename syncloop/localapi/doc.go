// Package localapi serves the pods of one node as a Kubernetes API, for kubectl, k9s and
// client-go informers where there is no cluster. It is experimental.
//
//	api, err := localapi.New(localapi.Config{Node: n, NodeName: "edge-1", Finder: n, Logs: n, Exec: n, Authenticator: localapi.Token(token)})
//	...
//	go api.Run(ctx)
//	http.Server{Handler: api, TLSConfig: ...}
//
// # What is served
//
//	/version /api /apis /openapi/v3             discovery, aggregated too
//	/api/v1: pods, events, nodes, namespaces    get, list and watch
//	pods/log, exec, attach, portforward         by syncloop/server
//	selfsubjectaccessreviews                    what there is may be done
//	metrics.k8s.io: pods, nodes                 get and list, for kubectl top; of the node, the sums of its pods
//
// The node is one object. Namespaces exist as long as pods are in them; default always does.
// Lists and watches have selectors, pages, resource versions, bookmarks, initial events and
// Tables with the columns of kubectl. Answers are in JSON. Commands and ports stream over
// SPDY, to which kubectl falls back from WebSocket.
//
// # Writes
//
// Without Config.Writer the API is read only: writes are answered with 405. With it clients
// create, patch, update and delete pods, which the node runs as those of Apply and Saved keeps
// over restarts. A pod is completed and checked by podmanager/validation; of one that exists
// may change what a real server lets change. Patches are JSON, merge and strategic merge
// patches; server-side apply is answered with 415. A pod that is deleted has a deletion
// timestamp until it has ended and has no finalizers. Static pods are answered with 405.
//
// # Versions
//
// Each resource has versions of its own. They begin with the time of New, so that they grow
// over restarts, and the last 1000 changes of each resource are kept: a watch from before
// them, or from before a restart, gets an event ERROR with a Status of code 410, as at a real
// server, upon which a client lists again.
//
// # Access
//
// Only /healthz, /livez and /readyz are served to everyone, without a reason for what is
// wrong. Any other request needs a user from the Authenticator, else it is 401; every user
// may do everything that is served. Requests before the node has heard all of its sources of
// pods are answered with 503.
//
// # Bounds
//
// At most 128 watches are open, each for at most an hour; a client that takes nothing of one
// for half a minute loses it. A body has at most 1 MiB (256 KiB in
// YAML), 20,000 values and 100 levels. At most 1000 created pods are kept, each of at most
// 250 kB as JSON, together of 32 MiB. The changes that are remembered of a resource take 16 MiB. There are at most 1000 events, each
// for an hour. Logs and streams have the bounds of syncloop/server.
package localapi
