// Package node puts every part of the library together: sources of pods, the
// manager, workers, the reference PodSyncer, a runtime, the PLEG and the loop.
// It is sugar, strictly on top: each part is importable alone, and whoever
// needs another wiring writes it in the hundred lines that this package takes.
//
// The host program hands pods over with Apply and Delete, follows them with Watch,
// and ends with Drain. Ready, Done and Err tell it how the node is, and Explain
// why a pod is as it is: the sentence that an operator looks for first, what is
// waited for, the next look, and the last things that happened to it, of which
// the node remembers a bounded number per pod.
//
//	n, err := node.New(node.Config{})
//	...
//	go n.Run(ctx)
//	n.Apply(pod)
//	for state := range n.Watch(ctx) {
//		fmt.Println(state.Pod.Name, state.Summary())
//	}
//
// People who look closer get a container's log and run commands in it, as far as
// the runtime can: ContainerID finds it, ReadLog and ExecStream are the runtime's.
//
// # Restarts
//
// A node that starts on a runtime with pods in it adopts those that it is told
// to run and ends the rest, source by source, Config.OrphanGrace after that source has
// said everything for the first time (kubelet-outer part 4, 2), or at once if another
// pod needs the name or a host port of one. For Set that first time is Run, so Set
// first what must go on running, or use Config.AwaitHost and SetComplete. Until the
// grace is over nothing is removed of what pods before this node have left.
//
// What had ended stays so if the runtime has records of it, the source says so, or
// Config.TerminalStatuses have kept it. A pod that was refused is asked about anew. What TerminalStatuses
// could not keep, as the disk is full, is handed to them again after 10 s, doubling to 5
// minutes, until they keep it or the pod is gone; the pod is not synced for that.
//
// # Ending
//
// A pod takes its resources, its host ports and its name until its containers have
// stopped, also when it was dropped long before. A new pod that needs some of that
// waits: it is Pending with reason AdmissionDeferred. Pods that are Set and static
// pods wait for as long as it takes, in order of arrival. If the pods that are Set
// are an API server's (Config.FromAPIServer) they are refused after the grace of the
// others and 30 s more.
//
// # Logs
//
// Where containers print into files below Config.LogRoot, and the runtime is a
// runtime.LogReopener, a log that gets too large is rotated (F95). Who reads a log gets
// the end of it that is in the file at its path; who follows it, what comes from then
// on, over rotations too.
//
// # The end
//
// A runtime that ignores that a context has ended breaks its contract, and keeps
// goroutines of the node from ending. It does not keep Run from it for longer than
// Config.DrainTimeout and a moment: what is left behind is named in Run's error, by
// pod, by probe, or by part.
//
// # Panics
//
// A panic in anything that Config brings is the error of that one call: the other pods,
// and the process, go on. Its stack is in the log once. Healthy names the call for five
// minutes after its last panic, and Config.Hooks.Panicked is told of each. A log
// handler that panics loses its line. The clock is the exception, and so is a
// goroutine that such code starts by itself.
//
// # Evictions
//
// Whether and whom to evict is the host program's to decide; Evict does it, with
// the shortest grace that anybody has asked for, and says why. Static and critical
// pods are spared unless Config.Evictable, or the eviction, says otherwise (part
// 4, 40 to 42).
//
// # Differences from the kubelet
//
// Pods handed over with Set come from the source "api", since the host program
// stands where the API server would: they are ordinary pods, not static ones.
// Every pod is checked as one of a manifest is, whatever source it comes from: one
// that makes no sense is refused with reason FailedValidation. The messages of
// events have a kilobyte at most.
// A status that is refused, because it cannot be true after the one before (ST-6), is
// an event StatusRefused, once; there it is a line of the log.
// A node that drains refuses new pods with reason NodeShutdown, as the kubelet
// does at shutdown, and kills the ones it has at the same time, without an
// order by priority. They fail with reason Terminated, as there; but Config.TerminalStatuses do
// not keep that, since the next agent is to run what a drain has only stopped.
package node
