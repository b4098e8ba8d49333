// Package apiservertest is an in-memory Kubernetes API server for tests and simulations (experimental).
//
//	server := apiservertest.New(apiservertest.Config{Clock: clk})
//	loop := mycode.New(mycode.Config{Server: server.Client("node-1"), Clock: clk})
//	server.Admin().CreatePod(pod) // bound to node-1
//
// Server has the state. Client is the API of one node, with the rights of a node. Admin is the API of a test:
// it binds, edits and deletes without faults and without waiting. RoundTripper serves client-go and
// controller-runtime in the same process, with custom resources. A server starts no goroutine. On the clock of
// a simulation, the simulation drives all waits, and each call lets other goroutines run before and after its
// execution.
//
// # Behaviour of a real server
//
//   - Resource versions count all changes. Watches show them in order, from a version or with initial events,
//     and with bookmarks. If the history after a version is lost, the first Next returns Expired.
//   - A deletion with a grace period sets the deletion timestamp, and the pod keeps running. The pod is removed
//     when its node deletes it with grace period zero; watches show MODIFIED and then DELETED. A terminal or
//     unbound pod is removed at once. A later deletion can only shorten the grace period. Finalizers keep the
//     object.
//   - Patches are strategic merge patches. The UID in a patch and the resource version of an update are
//     preconditions. A patch without a change makes no new version. Invalid changes of labels, spec and status
//     are refused.
//   - A node can read its own pods, its own node and lease, and the objects that its pods refer to. It can
//     create only mirror pods.
//   - Clients of RoundTripper create, read, watch, change and delete pods, nodes, namespaces, configmaps, secrets,
//     services, serviceaccounts, events, persistentvolumes and their claims, leases, runtimeclasses, and the resources
//     of Config.Resources. They bind and evict pods. They also use server-side apply: of custom resources always, and of
//     the kinds of Kubernetes with Config.TypeConverter. An object has managed fields after it was applied once.
//   - The events of core/v1 and of events.k8s.io are the same objects with other field names. So the recorders of
//     client-go and of controller-runtime (GetEventRecorder, GetEventRecorderFor) need no entry in Config.Resources.
//
// An informer of a kind that the server does not serve never syncs. A Get of client-go is NotFound, and a client of
// controller-runtime has no match for the kind. Config.Resources adds kinds that an operator or a scheduler uses:
//
//	[]metav1.APIResource{
//		{Group: "apps", Version: "v1", Kind: "Deployment", Name: "deployments", Namespaced: true, Verbs: metav1.Verbs{"status"}},
//		{Group: "batch", Version: "v1", Kind: "Job", Name: "jobs", Namespaced: true, Verbs: metav1.Verbs{"status"}},
//		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget", Name: "poddisruptionbudgets", Namespaced: true, Verbs: metav1.Verbs{"status"}},
//		{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass", Name: "priorityclasses"},
//		{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass", Name: "storageclasses"},
//		{Group: "storage.k8s.io", Version: "v1", Kind: "CSINode", Name: "csinodes"},
//	}
//
// # Not simulated
//
//   - No controllers: a Deployment makes no pods, a Job does not finish, objects whose owner is deleted stay, the
//     objects of a deleted namespace stay, and pods of a lost node stay. Package clustertest binds pods and taints nodes.
//   - No validation of custom resources, no defaults and no pruning by a schema, no conversion between versions.
//     Few fields of the kinds of Kubernetes are validated.
//   - No priority of a PriorityClass: spec.priority is 0 unless the creator of the pod sets it.
//   - No webhooks, no admission policies, no quotas and no limit ranges of a namespace, and no token volumes.
//   - No RBAC: each client of RoundTripper has all rights. Only Client has the restrictions of a node.
//   - No effect of PodDisruptionBudgets: an eviction always succeeds.
//   - No dry runs, pages of a list, Tables, OpenAPI, logs, exec and port-forward. Field selectors know a few fields of
//     pods and events, and else the name and namespace.
//   - No second API server whose watch cache lags.
//
// # Faults
//
// Inject makes requests slow, hang or fail, or loses their responses. A status that a node writes has Verb "patch" and
// Resource "pods/status". Fault{Verb: "patch", Resource: "pods/status", Latency: time.Second} delays each status, and
// the node sends only the newest one after that. Down, Crash, Freeze, Break and Compact affect the whole server. Requests
// returns the requests that have arrived, for assertions on transcripts.
//
// # Conformance
//
// Run checks an implementation of apiserver.Server. The server of this package passes. A real server with
// package client passes too.
package apiservertest
