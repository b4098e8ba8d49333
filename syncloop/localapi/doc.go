// Package localapi serves the pods of one node as a Kubernetes API (experimental). It is for kubectl,
// k9s and client-go informers where there is no cluster.
//
//	secrets, err := localapi.KeepCredentials("/var/lib/edge/api-credentials.json")
//	api, err := localapi.New(localapi.Config{Node: n, NodeName: "edge-1", Finder: n, Logs: n, Exec: n, Authenticator: localapi.Token(secrets.Token)})
//	service, err := localapi.NewService(localapi.ServiceConfig{API: api, Listener: l, Credentials: secrets, Kubeconfig: "/root/edge.kubeconfig"})
//	err = service.Run(ctx)
//
// API is an http.Handler, for programs with a server of their own. Clients in the same process
// need none: [API.RoundTripper] is the Transport of a rest.Config, also in virtual time.
//
// # What is served
//
//	/version /api /apis /openapi                discovery, aggregated too; for kubectl explain
//	/api/v1: pods, events, nodes, namespaces    get, list and watch
//	pods/log, exec, attach, portforward         by syncloop/server
//	coordination.k8s.io: leases                 get, list and watch the lease of the node
//	events.k8s.io: events                       the same events, for k9s
//	selfsubject{,access,rules}reviews           who asks; what there is may be done
//	metrics.k8s.io: pods, nodes                 get and list, for kubectl top; of the node, the sums of its pods
//
// The node is one object. Its lease, in the namespace kube-node-lease, is renewed every 10 s while
// the node is healthy. Namespaces exist as long as pods are in them; default always does.
// Lists and watches have selectors, pages, resource versions, bookmarks, initial events and
// Tables with the columns of kubectl. Answers are in JSON. Commands and ports stream over
// SPDY, to which kubectl falls back from WebSocket.
//
// # Writes
//
// Without Config.Writer the API is read only: writes are answered with 405. With it clients
// create, patch, update and delete pods, alone and all of a namespace, which the node runs as those of Apply and Saved keeps
// over restarts. A pod is completed and checked by podmanager/validation; of one that exists
// may change what a real server lets change, and an absent nodeName changes nothing. Patches are
// JSON, merge and strategic merge patches; server-side apply, for which a server has to know
// the owner of each field, is answered with 415. A pod that is deleted has a deletion
// timestamp until it has ended and has no finalizers. An eviction is a deletion, as there are no
// PodDisruptionBudgets: kubectl drain evicts. The node takes pods all the same then: cordon, labels
// and taints of nodes are answered with 405. Of pods/status clients write the conditions that
// the node does not write, such as those of readiness gates; the rest of it is the node's.
// Static pods are shown as their mirror pods are in a cluster; writes of them are answered with 405.
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
// YAML), 20,000 values and 100 levels; a patch at most 50 copies and moves, and lists of 1000 elements if it
// is strategic. At most 1000 created pods are kept, each of at most
// 250 kB as JSON, together of 32 MiB. The changes that are remembered of a resource take 16 MiB. There are at most 1000 events, each
// for an hour. Logs and streams have the bounds of syncloop/server.
//
// # Own code
//
// Libraries of Kubernetes decode, patch and select. Routing, watches and discovery are own code because
// k8s.io/apiserver serves from etcd. Columns of Tables and OpenAPI definitions are own code because those of
// Kubernetes are in k8s.io/kubernetes, which is no library. Bodies are counted before they are decoded
// because no decoder has bounds.
package localapi
