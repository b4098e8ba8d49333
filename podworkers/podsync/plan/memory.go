package plan

import (
	"iter"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/runtime"
)

// Memory carries what one decision about a pod leaves for the next one and what the runtime does
// not store. It is a value: Decide takes a Memory and returns the next one, and each method returns
// a changed copy. The zero value is the memory of a process that has just started.
//
// An executor must call RecordAttempt for each step, and RecordStage with StageCreated and with
// StageFailed or StageRefused for everything that it creates and starts. It calls RecordObservation
// when it has read the records of the pod again, before it decides with them. An executor that
// publishes statuses also calls RecordPublished, and one that resizes containers RecordUpdate. The
// other methods are for executors that publish waiting reasons, run hooks, give a stop a deadline over
// several calls, or store the memory on disk.
type Memory struct {
	// Initialized is the ID of the sandbox in which the pod is initialized. If it is empty, the
	// records decide whether the pod is initialized.
	Initialized string

	incarnation uint64 // the incarnation of the last decision
	policy      backoff.CrashLoop
	containers  *memoryTree
	sandbox     sandboxLoop
	stops       map[string]Stop // by container ID; a map that is stored is never changed
	resize      *resizeMemory   // nil: no container was resized; a stored one is never changed
}

// lastStart is the newest start of a container that the executor has sent to the runtime.
type lastStart struct {
	id     string    // the container ID; empty: the executor has started none
	failed time.Time // the time of the failure; zero: the start has not failed
}

// startRefusal records that the runtime refuses to start a created container.
type startRefusal struct {
	id    string    // the container ID; empty: the runtime has refused none
	since time.Time // the time of the first refusal; zero: the executor does not try again
}

// maxStartRefusal is how long the executor repeats a refused start, because another start may be in
// progress. After that another container replaces the refused one.
const maxStartRefusal = 2 * time.Minute

// lastExit is the newest exit of a container that a record has shown. It stays when the record is
// lost. The zero value means that the container has not exited.
type lastExit struct {
	id      string
	attempt uint32
	// at is the time of the exit by the caller's clock, so that a change of the runtime's clock does
	// not change a delay. If the runtime reports an exit in the future, at is the time of the report.
	at time.Time
}

// sandboxLoop is the back-off of the sandboxes of a pod. The first replacement of a sandbox that
// this process has created has no delay. Each later replacement has a longer delay, as in a crash
// loop.
type sandboxLoop struct {
	// the newest sandbox that this process has created; empty: it has created none
	id      string
	backoff backoff.State
	counted bool // RecordAttempt has advanced the back-off for the replacement of that sandbox
}

// RecordAttempt records that the executor is about to perform a step. The executor calls it for
// each step, before any work for the step, also before an image pull. It advances the crash loop of
// the container or the sandbox, because a crash loop counts attempts and not successes.
//
// For a StopContainer with Replaces it records that the exit of this container does not count: if
// the container exits with 0, it has not succeeded. An executor that stops a container for its next
// attempt without such a step calls RecordAttempt with a StopContainer step too.
func (m Memory) RecordAttempt(s Step, at time.Time) Memory {
	switch s.Op {
	case StopContainer:
		if s.Replaces {
			return m.withReplacedID(s.Name, s.ID)
		}
	case CreateSandbox:
		// Each sandbox advances the back-off once, also if the creation of its successor is retried.
		if m.sandbox.id != "" && !m.sandbox.counted {
			m.sandbox.backoff, m.sandbox.counted = m.policy.Next(m.sandbox.backoff, at), true
		}
	case StartContainer:
		past, key := m.containers.findMemory(s.Name), crashLoopKey(s.Container)
		if past.spec != key {
			past.spec, past.backoff, past.start = key, backoff.State{}, lastStart{}
		}
		if past.exit.id != "" {
			past.backoff = m.policy.Next(past.backoff, at)
		}
		m.setContainer(s.Name, past)
	}
	return m
}

// Stage is the progress of a CreateSandbox or StartContainer step.
type Stage uint8

// The stages.
const (
	// StageCreating: the executor is about to ask the runtime to create the container, or to start
	// a container that exists. The image, the volumes and the environment are ready.
	StageCreating Stage = iota + 1
	// StageCreated: the runtime has created the sandbox, or has created the container and is about
	// to be asked to start it. The executor has the ID.
	StageCreated
	// StageFailed: the start of the created container has returned an error. The executor does not
	// start this container again. The next attempt creates another container.
	StageFailed
	// StageRefused: the runtime refused the start, because the container was not in the state
	// created. Another start may be in progress, or the sandbox may be lost. The executor may start
	// the same container again for two minutes. After that another container replaces it.
	StageRefused
	// StageNotStarted: the container certainly does not run. ProvesNotStarted returns true for the
	// error of its start, or it was removed before a start. The executor records this stage in
	// addition to StageFailed or StageRefused.
	StageNotStarted
	// StagePostStart: the postStart hook of the container with the ID has begun. The container does
	// not count as started until StageStarted.
	StagePostStart
	// StageStarted: the postStart hook has succeeded.
	StageStarted
)

// RecordStage records that a step has reached a stage. The executor calls it after RecordAttempt,
// once for each stage. id is the ID of the sandbox or the container at StageCreated and at the
// stages after StageRefused. RecordStage ignores it at the other stages.
func (m Memory) RecordStage(s Step, stage Stage, id string, at time.Time) Memory {
	if s.Op == CreateSandbox && stage == StageCreated {
		m.sandbox.id, m.sandbox.counted = id, false
	}
	if s.Op != StartContainer {
		return m
	}
	past := m.containers.findMemory(s.Name)
	switch stage {
	case StageCreating:
		// RecordAttempt advances the crash loop only after an exit that a record shows. Here the
		// container has started before with the same spec, and no record shows its exit.
		if past.exit.id != "" || past.start.id == "" {
			return m
		}
		past.backoff = m.policy.Next(past.backoff, at)
	case StageCreated:
		past.start, past.created = lastStart{id: id}, m.newCreation(&s)
		past.unpublished = &unpublishedStart{id: id, attempt: s.Attempt, at: at}
		if s.Container != nil {
			past.unpublished.resources = *wantedResources(s.Container, s.podLimits).DeepCopy()
		}
	case StageFailed:
		past.start.failed, past.refused = at, startRefusal{id: past.start.id}
	case StageRefused:
		if past.refused.id == past.start.id {
			return m
		}
		past.refused = startRefusal{past.start.id, at}
	case StageNotStarted:
		if past.unpublished == nil || past.unpublished.id != id {
			return m
		}
		past.unpublished = nil
	case StagePostStart:
		past.postStart = id
	case StageStarted:
		past.postStart = ""
	default:
		return m
	}
	m.setContainer(s.Name, past)
	return m
}

// newCreation returns the values that a start step requests for a new container: name, sandbox, attempt, hash
// of name and image, and the number of the pod among the pods that had this UID.
func (m Memory) newCreation(s *Step) creation {
	c := creation{Name: s.Name, SandboxID: s.SandboxID, Attempt: s.Attempt, Incarnation: m.incarnation}
	if s.Container != nil {
		c.Hash = SpecHash(s.Container)
	}
	return c
}

// canRetryStart reports whether the executor may try again to start a container that was created. It is false
// if the runtime has refused this start for maxStartRefusal, or for good. Then the executor removes the
// container and creates another one.
func (m Memory) canRetryStart(container, id string, now time.Time) bool {
	r := m.containers.findMemory(container).refused
	return r.id != id || !r.since.IsZero() && now.Sub(r.since) < maxStartRefusal
}

// SetWaitingReason records why the last start of a container failed. Status shows the reason until
// the container runs. The zero Reason clears it.
func (m Memory) SetWaitingReason(container string, why Reason) Memory {
	if past := m.containers.findMemory(container); past.reason != why {
		past.reason = why
		m.setContainer(container, past)
	}
	return m
}

// WaitingReason returns the reason that SetWaitingReason has recorded for a container.
func (m Memory) WaitingReason(container string) Reason {
	return m.containers.findMemory(container).reason
}

// withReplacedID returns a Memory which records that the executor stops the container with the ID for its next
// attempt. The exit code of that container then does not count as success. An empty id clears the record.
func (m Memory) withReplacedID(name, id string) Memory {
	if past := m.containers.findMemory(name); past.replaced != id {
		past.replaced = id
		m.setContainer(name, past)
	}
	return m
}

// isStoppedForNextAttempt reports whether a container ID is the attempt that the executor stopped in order to
// start the next one. The ID may be a runtime ID, or an ID with a scheme, as in "containerd://id".
func (m Memory) isStoppedForNextAttempt(name, id string) bool {
	return m.containers.isStoppedForNextAttempt(name, id)
}

// ReplacedContainers returns the name and ID of each container that was stopped for its next
// attempt, if that attempt has not run yet by the records of an incarnation. An executor that
// stores these on disk passes them, after a restart, to RecordAttempt as StopContainer steps with
// Replaces.
func (m Memory) ReplacedContainers(seen *runtime.PodStatus, incarnation uint64) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		m.containers.forEach(func(name string, p *compactMemory) bool {
			id := p.replacedID()
			return id == "" || hasLaterAttemptRunOrExited(seen, incarnation, name, id) || yield(name, id)
		})
	}
}

// clearReplacedAfterLaterRun clears, for each container, the ID of the attempt that was stopped for the next
// attempt, as soon as a later attempt runs or has run.
func (m *Memory) clearReplacedAfterLaterRun(seen *runtime.PodStatus) {
	for name, past := range m.containers.iterateInOrderOfNames() {
		if id := past.replacedID(); id != "" && hasLaterAttemptRunOrExited(seen, m.incarnation, name, id) {
			*m = m.withReplacedID(name, "")
		}
	}
}

// hasLaterAttemptRunOrExited reports whether a later attempt of a container runs or has exited. name is the
// name of the container, incarnation is the life of the pod UID to which the attempts belong, and id is the
// attempt to compare with. If the runtime does not show the attempt id, each other attempt counts as later. It
// returns false for a nil status.
func hasLaterAttemptRunOrExited(seen *runtime.PodStatus, incarnation uint64, name, id string) bool {
	if seen == nil {
		return false
	}
	var replaced, newest *runtime.ContainerStatus
	for i := range seen.Containers {
		c := &seen.Containers[i]
		if c.Name != name || c.Incarnation != incarnation {
			continue
		}
		if c.ID == id {
			replaced = c
		}
		if c.State != runtime.StateCreated && (newest == nil || c.Attempt > newest.Attempt) {
			newest = c
		}
	}
	return newest != nil && newest.ID != id && (replaced == nil || newest.Attempt > replaced.Attempt)
}

// setContainer stores the memory of one container. It changes this Memory, but no copy of it.
func (m *Memory) setContainer(container string, p containerMemory) {
	m.containers = m.containers.withContainer(container, toCompactMemory(&p))
}

// lastAttemptEnd returns the latest of three times: the last exit, the last failed start and the last begin of
// an attempt. The crash-loop delay counts from it.
func (p *containerMemory) lastAttemptEnd() time.Time {
	end := p.exit.at
	for _, at := range [...]time.Time{p.start.failed, p.backoff.LastStart} {
		if at.After(end) {
			end = at
		}
	}
	return end
}

// updateMemory brings the memory up to date with the runtime records. It stores new exits, counts failed
// starts, and clears what the records make obsolete. It also sets the crash-loop delay of each init and regular
// container, and adds unpublished starts to the published status.
func (d *decision) updateMemory() {
	d.Memory.policy, d.Memory.incarnation = d.CrashLoop, d.Incarnation
	d.Memory.clearReplacedAfterLaterRun(d.Runtime)
	d.Memory.forgetExitedPostStart(d.Runtime)
	d.Published = d.Memory.withUnpublishedStarts(d.Published, "")
	for i := range d.count {
		e := d.entryAt(i)
		if e.spec == nil {
			continue // An ephemeral container runs once.
		}
		if e.exited != nil {
			d.recordExitIfNewer(e.exited)
		}
		past := d.Memory.containers.findMemory(e.spec.Name)
		if past.spec == "" || past.spec != crashLoopKey(e.spec) {
			continue
		}
		d.setFirstCrashLoopDelayIfStartLeftCreated(e, &past)
		if wait := d.CrashLoop.Remaining(past.backoff, past.lastAttemptEnd(), d.Now); wait > 0 {
			e.heldUntil, e.delay = d.Now.Add(wait), past.backoff.Delay
		}
	}
}

// recordExitIfNewer stores the exit of a record in the memory, unless that exit or one of a later attempt is
// already stored. The exit time is never in the future.
func (d *decision) recordExitIfNewer(rec *runtime.ContainerStatus) {
	past := d.Memory.containers.findMemory(rec.Name)
	if rec.ID == past.exit.id || (past.exit.id != "" && rec.Attempt < past.exit.attempt) {
		return
	}
	var age time.Duration
	if !rec.FinishedAt.IsZero() {
		age = max(d.Now.Sub(rec.FinishedAt), 0)
	}
	past.exit = lastExit{id: rec.ID, attempt: rec.Attempt, at: d.Now.Add(-age)}
	d.Memory.setContainer(rec.Name, past)
}

// setFirstCrashLoopDelayIfStartLeftCreated sets the first crash-loop delay if the last start of a container
// failed and left the container only created. It does nothing if a delay is already set. Exits advance the
// delay elsewhere.
func (d *decision) setFirstCrashLoopDelayIfStartLeftCreated(e *containerEntry, past *containerMemory) {
	if past.start.failed.IsZero() || past.backoff.Delay > 0 {
		return
	}
	for rec := range d.recordsOf(e) {
		if rec.ID == past.start.id && rec.State == runtime.StateCreated {
			past.backoff = d.CrashLoop.Next(past.backoff, past.start.failed)
			d.Memory.setContainer(rec.Name, *past)
			return
		}
	}
}

// sandboxDelayEnd returns when the delay before the next sandbox ends. It returns zero if there is no delay now.
// That is so if the delay is over, or if this process has created no sandbox. It is also so if the replacement of
// the newest sandbox has already begun, because that replacement has waited for its delay.
func (d *decision) sandboxDelayEnd() time.Time {
	b := &d.Memory.sandbox
	if b.id == "" || b.counted {
		return time.Time{}
	}
	if wait := d.CrashLoop.Remaining(b.backoff, b.backoff.LastStart, d.Now); wait > 0 {
		return d.Now.Add(wait)
	}
	return time.Time{}
}

// containerDelay returns when the crash-loop delay of a container ends, and how long the delay is. Both are
// zero if the container has no delay.
func (d *decision) containerDelay(c *v1.Container) (time.Time, time.Duration) {
	if e := d.entryByName(c.Name); e != nil && e.spec != nil {
		return e.heldUntil, e.delay
	}
	return time.Time{}, 0
}
