// Package plan decides what to do with a pod and what its status is (experimental). It is pure. Its
// input is the pod, the records of the runtime and the time. Its output is a list of steps, or a
// v1.PodStatus. Package podsync executes the steps. Another node agent, a dry run or a table test can
// call this package directly. RULES.md explains the ids in comments.
//
//	Decide             returns the next steps
//	ContainerStatuses  returns the status of each container
//	CompleteStatus     adds phase and conditions, by podstatus.Conclude
//
// All functions return values, do not change their arguments, and may be called concurrently. One
// exception: a status that this package returns may share lists with StatusInput.Old.
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
// do calls its function after it has created a sandbox, and before it starts a created container.
// An executor must follow these rules:
//
//   - It performs the steps in order. At the first failed step it stops, unless that step is
//     Independent: then it goes on with the next step. It also stops at a step with an unknown Op.
//   - It does nothing for the steps in Held: starts, and replacements of containers or the sandbox.
//   - It decides again when the pod or its records have changed, and at NextAt. It needs no other
//     timer.
//   - Each decision gets the Memory of the last decision. Between two decisions the executor calls
//     RecordAttempt and RecordStage for its steps. It calls RecordObservation when it has read the
//     records of the pod again. A restarted process begins with the zero Memory: delays start over.
//   - Published is the last published status, and Probed has the results of probes. After the
//     executor has stored a status it calls Memory.RecordPublished. If HasVanishedContainer reports
//     true, it inspects the pod once more before it decides.
//   - After an UpdateContainer step it calls RecordUpdate instead of RecordStage. A failed one prevents
//     only later UpdateContainer steps. Meanwhile the cgroup of the pod needs Decision.RaisedPod.
//   - It terminates a deleted pod itself. Decide starts nothing in a pod with a DeletionTimestamp,
//     but it returns no step for a container that runs as it should.
//
// The caller sets Started and Ready of containers with probes between ContainerStatuses and
// CompleteStatus.
//
// A runtime may report no addresses (Input.Addresses) and store no incarnations. Neither stops a pod.
//
// # Records
//
// An incarnation is one use of a pod UID. A pod that is added again after its termination has the
// same UID and a higher incarnation. Records of other incarnations are not progress of this pod.
// Their containers and ready sandboxes are stopped, and later the sandboxes are removed. A new
// attempt gets a number that no record of any incarnation has.
//
// Records of one name are ordered by attempt, and by time only if the attempts are equal. An init
// container counts only by its records in the current sandbox. A regular container that has finished
// in an older sandbox of this incarnation may stay finished.
//
// # Decisions
//
//   - A restart of all containers comes first, then a new sandbox if the pod needs one. While the
//     replacement of a sandbox is held, Decide returns no steps.
//   - Init containers start one after the other. A sidecar keeps running, and the next container
//     waits until the sidecar has started.
//   - Regular containers start when the initialization is complete in the current sandbox.
//   - An ephemeral container starts once, also before the initialization is complete. It does not
//     start together with a new sandbox or after a StopPod step, and it does not keep a pod alive.
//   - A container that runs outside the current sandbox, incarnation or spec is stopped. If it runs in
//     another ready sandbox of this incarnation, the pod gets a new sandbox. While one attempt runs, no
//     other attempt starts.
//   - A container whose image has changed is stopped and started, also under restart policy Never. A
//     container whose liveness or startup probe has failed is stopped. It starts again unless its
//     policy is Never. Sidecars start again in both cases.
//   - After an exit the restart rules of a container decide about its restart, then its policy, then
//     the policy of the pod. A container in an unknown state counts as exited with code 137.
package plan
