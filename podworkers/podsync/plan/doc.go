// Package plan decides what to do with a pod and what its status is (experimental). It is pure: the
// pod, what the runtime shows and the time go in; what to do next, or a v1.PodStatus, comes out.
// Package podsync executes it. A node agent of your own, a dry run or a table test calls it directly.
//
//	Decide             what to do next
//	ContainerStatuses  the status of each container
//	CompleteStatus     phase and conditions, by podstatus.Conclude
//
// All functions return values, change nothing that they are given, and may be called
// concurrently.
//
// # Executing
//
//	d := plan.Decide(pod, seen, plan.Input{Incarnation: 1, Now: now, Memory: memory.RecordObservation()})
//	memory = d.Memory
//	for _, step := range d.Steps {
//		memory = memory.RecordAttempt(step, now)
//		err := do(step, func(id string) { memory = memory.RecordStage(step, plan.StageCreated, id, now) })
//		if err != nil {
//			memory = memory.RecordStage(step, plan.StageFailed, "", now)
//			if !step.Independent {
//				break
//			}
//		}
//	}
//
// do calls its function when a sandbox is created, and before a created container is started.
// An executor keeps these rules:
//
//   - Steps are done in the order of the list. The first error ends it, unless the step is
//     Independent. A step whose Op the executor does not know ends it too.
//   - A start that has to wait is in Held, and is not a step.
//   - The executor decides again when the pod or its records have changed, and at NextAt. It
//     needs no other timer.
//   - Each decision gets the Memory of the one before, with RecordAttempt and RecordStage of its steps, and
//     with RecordObservation because seen is newer than these. A process that starts again begins with a
//     zero Memory: delays start over.
//   - Published has the status that was published last, and Probed the results of probes. After a
//     status is stored the executor calls Memory.RecordPublished. If HasVanishedContainer is true the executor
//     inspects the pod once more before it decides.
//
// The caller sets Started and Ready of containers with probes between ContainerStatuses and CompleteStatus.
//
// A runtime may report no addresses (Input.Addresses) and store no incarnations: neither stops
// a pod.
//
// # Records
//
// A record counts for its incarnation and its sandbox. Records of one name are ordered by
// attempt, and by time only where attempts are equal. Records of other incarnations count for
// one thing: a new attempt gets a number that none of them has.
//
// # What is decided
//
//   - A restart of all containers comes first, then a new sandbox, if the pod needs one.
//   - Init containers start one after the other. A sidecar keeps running, and the next
//     container waits until it has started.
//   - Regular containers start when initialization is complete in this sandbox. Ephemeral
//     containers start at any time, once.
//   - A container that runs outside the current sandbox, incarnation or spec is stopped.
//     While an attempt runs, no other begins.
//   - A container whose image changed, or whose liveness or startup probe failed, is
//     stopped and started again if its policy says so.
//   - Whether a container restarts is decided by its rules, then its policy, then that of
//     its pod. A container in an unknown state has most likely run.
package plan
