// Package apiservertest has a Kubernetes API server in memory, for tests and simulations of what talks
// to one (experimental).
//
//	server := apiservertest.New(apiservertest.Config{Clock: clk})
//	loop := mycode.New(mycode.Config{Server: server.Client("node-1"), Clock: clk})
//	server.Admin().CreatePod(pod) // bound to node-1
//
// Server keeps the state. Client is what one node has of it, with a node's rights. Admin
// is the handle of a test: it binds, edits and deletes without faults and without
// waiting. A server starts no goroutine; on the clock of a simulation, the simulation
// drives all waits, and each call lets others run before and after it is carried out.
//
// # What it does as a real server does
//
//   - Resource versions count all changes. Watches show them in order, from a version or
//     with initial events, and bookmarks. A version whose history is lost is refused as
//     expired, by the first Next.
//   - A pod that is deleted with a grace keeps running: it gets a deletion timestamp. It
//     goes when its node deletes it with a grace of zero, shown as modified and then as
//     deleted. A pod that has ended, or is bound to no node, goes at once. A deletion that
//     is under way can only be shortened. Finalizers keep the object.
//   - Patches are strategic merge patches. The UID in a patch and the resource version of an
//     update are preconditions. A patch that changes nothing makes no new version. Labels,
//     the spec, and a status that no server takes are guarded.
//   - A node sees its own pods, its own node and lease, and the objects that its pods
//     name. It creates mirror pods only.
//
// Not simulated: scheduling and all controllers, quotas and defaults of a namespace,
// token volumes, several API servers, garbage collection by owner.
//
// # Trouble
//
// Inject has requests be slow, hang, fail, or lose their answers. Down, Crash, Freeze,
// Break and Compact are troubles of the whole server. Requests is what has arrived, for
// assertions on exact transcripts.
//
// # Conformance
//
// Run checks an implementation of apiserver.Server, whatever is behind it: the server of
// this package passes, and so does a real one by package client.
package apiservertest
