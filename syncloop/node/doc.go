// Package node assembles a whole node: sources, manager, workers, PodSyncer, runtime, PLEG
// and loop. It adds no behaviour of its own that the parts do not have. It takes a Runtime
// and a PodSyncer (Config.NewSyncer). A program that replaces another part composes
// podworkers and syncloop directly, as the Example of package syncloop shows.
//
// The host program hands pods over with Apply and Delete, follows them with Watch, and stops the node
// with Drain. Ready, Done, Err and Health report the state of the node. Explain returns in one
// sentence why a pod is in its state, with what the pod waits for, its next sync and its last events.
//
//	n, err := node.New(node.Config{})
//	...
//	go n.Run(ctx)
//	n.Apply(pod)
//	for state := range n.Watch(ctx) {
//		fmt.Println(state.Pod.Name, state.Summary())
//	}
//
// Pod, PodByName and List answer for one pod, or for those that selectors select, and
// WatchFrom goes on from the version of a List. They are experimental.
//
// The rest stands on four parts. Scheduling answers a scheduler: what fits on the node, and why a pod does
// not (Scheduling and Config.Scheduling.WhenFull are experimental). Containers finds containers, reads
// their logs, runs commands in them and measures them, as far as the runtime can. Sources reports what the
// sources have delivered, and Statuses sends statuses again. A program that joins the node to an API
// server uses the last two, as package cluster does.
//
// # Pods
//
// Pods that come with Apply have the source "api": they are ordinary pods, not static ones.
// Every pod is validated, whatever its source; an invalid one is rejected with reason
// FailedValidation.
//
// A PodSyncer, a hook or an admission handler must not modify a pod that it is given: all parts of
// the node share it, and pods of one template share their spec.
//
// # Restarts
//
// A node that starts on a runtime with pods in it adopts those that it is told to run. It
// terminates the rest, source by source, Config.Pods.OrphanGrace after that source was complete
// for the first time, or at once if another pod needs the name or a host port of one. For
// Apply the first time is Run, so call Apply before Run for what must go on running, or use
// Config.Pods.AwaitHost and SetComplete. Until the grace period is over nothing is removed of
// what pods before this node have left.
//
// A pod that had ended is not started again if the runtime has records of it, its source
// says so, or Config.Pods.TerminalStatuses kept it, as it does of a rejected pod. A static pod that was rejected, and
// a pod that was rejected because of Drain, is asked for admission again.
// If TerminalStatuses cannot save, the node repeats that after 10 s, doubling to 5 minutes.
//
// # Termination
//
// A pod keeps its resources and its host ports until its containers have stopped, also after
// it was deleted, and its name until it was deleted as well. A new pod that needs some of that waits: it is Pending with
// reason AdmissionDeferred. If the pods come from an API server (Config.Pods.FromAPIServer) it
// is rejected after the grace period of the others and 30 s more.
//
// A pod for which the node has no room is rejected, or waits, as Config.Scheduling.WhenFull says.
//
// Evict terminates a pod with the shortest grace period that was requested, and with a
// reason. Static and critical pods are not evicted unless Config.Scheduling.Evictable or the eviction
// says otherwise.
//
// Drain rejects new pods with reason NodeShutdown, until Undrain, and terminates all others at the same
// time, or, with DrainOptions.Groups, in the order of priorities; they are Failed with reason
// Terminated. Run returns at most Config.Sync.DrainTimeout and a moment after its context ends. If the
// runtime ignores the end of a context, Run's error names what is left behind: by pod, probe or part.
//
// # Logs
//
// Where containers write log files below Config.Logs.Root, and the runtime is a
// runtime.LogReopener, large logs are rotated. A reader gets the end of a log from the
// current file; a follower gets everything from then on, over rotations too.
//
// # Panics
//
// A panic in anything that Config brings fails that one call. Its stack is logged once,
// Health names the call for five minutes, and Config.Hooks.Workers.Panicked is called
// (Config.Hooks.Loop.Panicked for a hook of the loop). The clock,
// and goroutines that such code starts by itself, are not covered.
package node
