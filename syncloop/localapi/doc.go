// Package localapi serves the pods of one node as a Kubernetes API (experimental). kubectl, k9s and client-go
// informers use it where there is no cluster.
//
//	secrets, err := localapi.KeepCredentials("/var/lib/edge/api-credentials.json")
//	api, err := localapi.New(localapi.Config{Node: n, NodeName: "edge-1", Finder: n, Logs: n, Exec: n, Authenticator: localapi.Token(secrets.Token)})
//	service, err := localapi.NewService(localapi.ServiceConfig{API: api, Listener: l, Credentials: secrets, Kubeconfig: "/root/edge.kubeconfig"})
//	err = service.Run(ctx)
//
// API is an http.Handler for programs with a server of their own. Clients in the same process need no server:
// [API.RoundTripper] is the Transport of a rest.Config, also in virtual time.
//
// # Resources
//
//	/version /api /apis /openapi                discovery, also aggregated; schemas for kubectl explain
//	/api/v1: pods, events, nodes, namespaces    get, list and watch
//	pods/log, exec, attach, portforward         served by syncloop/server
//	coordination.k8s.io: leases                 get, list and watch the lease of the node
//	events.k8s.io: events                       the same events, for k9s
//	selfsubject{,access,rules}reviews           the user of the request; the verbs that the API serves
//	metrics.k8s.io: pods, nodes                 get and list, for kubectl top; a node's usage is the sum of its pods
//
// The API has one Node object. Its lease in kube-node-lease is renewed every 10 s while the node is healthy.
// A namespace exists while a pod is in it; default and kube-node-lease always exist. Lists and watches support
// selectors, pages, resource versions, bookmarks, initial events and the Tables of kubectl. Responses are
// JSON. Commands and ports stream over WebSocket, as kubectl asks by default, and over SPDY.
//
// # Writes
//
// Without Config.Writer the API is read only, and a write returns 405. With a Writer, clients create, patch,
// update, delete and evict pods. The node runs such a pod like a pod of its Apply method. Config.Saved stores
// each write before the API answers, so that it survives a restart. JSON patches, merge patches and strategic
// merge patches work. Server-side apply returns 415, because the API does not record field owners.
//
// A pod that a client has created is in one of these states (pods of other sources have none):
//
//	Restored   an earlier process has saved the pod, and the node has not reported it yet
//	Desired    the node runs the pod; a completed pod stays until a client deletes it
//	Held       a client has deleted the pod, its containers stop, and finalizers keep the object
//	Deleting   a client has deleted the pod, its containers stop, and it has no finalizers
//	Removed    clients no longer see the pod: it was deleted and has terminated, or the node refused it
//
// These rules differ from an API server or may surprise:
//   - Static pods appear as their mirror pods do in a cluster. A write to another source's pod returns 405.
//   - A deleted pod stays visible until its containers have stopped and its finalizers are removed, even with
//     grace period 0. Until then no other pod can be created with its name.
//   - An eviction is a deletion: no PodDisruptionBudget can refuse it. Clients cannot cordon, label or taint
//     the node (405), so it accepts new pods during and after kubectl drain.
//   - In pods/status, clients change only conditions that the node does not write, as of readiness gates.
//   - An update changes the same fields as at an API server, and pods/resize the cpu and memory of containers
//     and of the pod. An update without a nodeName keeps it.
//   - A pod with a field of a newer Kubernetes is refused. An API server drops the field.
//   - If the node refuses a new pod, the create returns 409, but watchers see the pod ADDED and DELETED. If it
//     refuses an update, the request returns 503, but the change is saved and visible.
//   - If the disk is full, a deletion removes the pod's file. A restart then loses the pod and its finalizers.
//
// # Resource versions
//
// Each resource counts its own versions; the two events resources share a count. The first version is the time
// of New in microseconds, so versions grow across restarts. The API remembers the last 1000 changes of each
// resource. A watch from an older version receives an ERROR event with code 410, and the client lists again.
//
// # Access
//
// Any client may get /healthz, /livez and /readyz, which do not say why the node is unhealthy. Every other
// request needs a user from the Authenticator, else it returns 401. A request through [API.RoundTripper] without
// an Authorization header has the user podkeel in system:masters. Each user may do everything that the API
// serves. Until the node has reported the pods of all sources, requests for objects and metrics return 503.
//
// # Bounds
//
// The API serves at most 128 watches, each for at most an hour. It closes a watch whose client reads nothing
// for 30 s. A body has at most 1 MiB (256 KiB as YAML), 20,000 values and 100 levels. A patch has at most 50
// copy and move operations; a strategic merge patch has lists of at most 1000 elements. Clients create at
// most 1000 pods, each of at most 250 kB as JSON and all together 32 MiB. The remembered changes of a resource
// take at most 16 MiB. The API keeps 1000 events for an hour. Package syncloop/server bounds logs and streams.
//
// # Why this is own code
//
// Kubernetes libraries decode, patch and select. k8s.io/apiserver needs etcd, and k8s.io/kubernetes is no library.
package localapi
