// Package plan decides what to do with a pod and what its status is (experimental). It is pure. Its
// input is the pod, the records of the runtime and the time. Its output is a list of steps, or a
// v1.PodStatus. Package podsync executes the steps. Another node agent, a dry run or a table test can
// call this package directly.
//
//	Decide             returns the next steps
//	ContainerStatuses  returns the status of each container
//	CompleteStatus     adds phase and conditions, by podstatus.Conclude
//
// All functions return values, do not change their arguments, and may be called concurrently.
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
//   - It does nothing for the starts in Held.
//   - It decides again when the pod or its records have changed, and at NextAt. It needs no other
//     timer.
//   - Each decision gets the Memory of the last decision. Between two decisions the executor calls
//     RecordAttempt and RecordStage for its steps, and RecordObservation when it has newer records.
//     After a restart of the process it begins with the zero Memory: delays start over.
//   - Published is the last published status, and Probed has the results of probes. After the
//     executor has stored a status it calls Memory.RecordPublished. If HasVanishedContainer reports
//     true, it inspects the pod once more before it decides.
//
// The caller sets Started and Ready of containers with probes between ContainerStatuses and
// CompleteStatus.
//
// A runtime may report no addresses (Input.Addresses) and store no incarnations. Neither stops a pod.
//
// # Records
//
// A record counts for one incarnation and one sandbox. Records of one name are ordered by attempt,
// and by time only if the attempts are equal. Records of other incarnations count only for attempt
// numbers: a new attempt gets a number that no record has.
//
// # Decisions
//
//   - A restart of all containers comes first, then a new sandbox if the pod needs one.
//   - Init containers start one after the other. A sidecar keeps running, and the next container
//     waits until the sidecar has started.
//   - Regular containers start when the initialization is complete in the current sandbox. Ephemeral
//     containers start at any time, once.
//   - A container that runs outside the current sandbox, incarnation or spec is stopped. While one
//     attempt runs, no other attempt starts.
//   - A container whose image has changed, or whose liveness or startup probe has failed, is stopped.
//     It starts again if its policy allows that.
//   - The restart rules of a container decide about its restart, then its policy, then the policy of
//     the pod. A container in an unknown state counts as a container that has run.
package plan
