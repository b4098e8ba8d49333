// Package node assembles a whole node: sources, manager, workers, PodSyncer, runtime, PLEG and loop. The parts define
// the behaviour. The package takes a Runtime and a PodSyncer (Config.NewSyncer). A program that replaces another part
// composes podworkers and syncloop directly, as examples/tour/6-syncloop shows.
//
// The host program applies pods with Apply, deletes them with Delete, follows them with Watch, and terminates them
// with Drain. Ready, Done, Err and Health report the state of the node. Explain returns why a pod is in its state,
// what it waits for, when its next sync is, and its last events.
//
//	n, err := node.New(node.Config{})
//	...
//	go n.Run(ctx)
//	n.Apply(pod)
//	for state := range n.Watch(ctx) {
//		fmt.Println(state.Pod.Name, state.Summary())
//	}
//
// Pod and PodByName return one pod. List returns the pods that selectors select, and WatchFrom yields the changes
// after a List. These four are experimental.
//
// The other methods stand on four parts. Scheduling says which pods fit on the node, and why a pod does not
// (Scheduling and Config.Scheduling.WhenFull are experimental). Containers finds containers, reads their logs, runs
// commands in them and measures them, if the runtime supports it. Sources reports what the sources have delivered,
// and Statuses sends statuses again. Package cluster uses these two.
//
// # Pods
//
// PodsConfig compares the ways in which pods reach the node: Apply, a source.Handle and files. The node validates all
// of them, and rejects an invalid pod with reason FailedValidation.
//
// A PodSyncer, a hook or an admission handler must not modify the pods that the node passes to it: all parts of the
// node share a pod, and pods of one template share their spec.
//
// # Resizes
//
// If the spec of an admitted pod gets other cpu or memory, the node resizes its running containers, without a restart
// unless a resizePolicy requires one. A resize is Deferred until it fits beside the other pods, and Infeasible if the
// empty node cannot hold it. Config.Pods.AllocatedResources keeps allocated resources across restarts.
//
// # Restarts
//
// A node can start on a runtime in which pods of an earlier process run. It adopts the desired ones. It terminates
// each other pod after Config.Pods.OrphanGrace, which begins when the source of the pod has delivered all its pods
// for the first time. It terminates the pod at once if a new pod needs its name or one of its host ports. Until the
// grace period is over the node removes nothing that earlier pods left.
//
// When Run begins, the node assumes that the program has applied all of its pods, and later terminates all others that
// run. A program that applies pods later sets Config.Pods.AwaitHost, and calls SetComplete when all are applied.
//
// A terminated pod does not start again if the runtime has records of it, if its source delivers a terminal status,
// or if Config.Pods.TerminalStatuses has stored its status. Rejections are stored there too, except rejections of
// static pods and by Drain: such a pod asks for admission again. If TerminalStatuses cannot save a status, the node
// retries after 10 s, with a backoff of up to 5 minutes.
//
// # Termination
//
// A pod holds its resources and its host ports until its containers have stopped, even after its deletion. It holds
// its name until it is deleted and its containers have stopped. A new pod that needs any of these waits: it is
// Pending with reason AdmissionDeferred. If the pods come from an API server (Config.Pods.FromAPIServer), the node
// rejects the new pod after the grace period of the terminating pods plus 30 s.
//
// If the node has no room for a pod, the pod waits or is rejected, as Config.Scheduling.WhenFull says.
//
// Evict terminates a pod with a reason, within the shortest grace period that any caller requested. It does not evict
// static and critical pods, unless Config.Scheduling.Evictable or Eviction.Force permits it.
//
// Drain terminates all pods at the same time or, with DrainOptions.Groups, in the order of their priorities. The pods
// are then Failed with reason Terminated. Until Undrain the node rejects new pods with reason NodeShutdown. When the
// context of Run ends, Run returns within Config.Sync.DrainTimeout and a few seconds. If a runtime ignores the end of
// its context, Run returns an error that names the pods, probes or parts that are still running.
//
// # Logs
//
// If Config.Logs.Root is set and the runtime is a runtime.LogReopener, the node rotates large logs. The last
// lines of a log come from the current file. A follower gets every line from its start on, across rotations.
//
// # Panics
//
// A panic in code that Config brings fails only the call in which it occurs. The node logs its stack once, Health
// reports the call for five minutes, and the node calls Config.Hooks.Workers.Panicked, or Config.Hooks.Loop.Panicked
// for a hook of the loop. Panics of the clock, and of goroutines that such code starts, are not recovered.
package node
