package plan

import (
	"iter"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// recordIndex assigns the records of a pod to the containers of its spec, so that the records are
// read once.
type recordIndex struct {
	nameIndex
	// The entries are in the order of the spec: init, regular, ephemeral. Up to maxInline entries
	// are in inline, more are in many.
	inline [maxInline]containerEntry
	many   []containerEntry
	// follow has, for each record, the position plus one of the next record with the same name.
	// Zero: it is the last one.
	follow            [2 * maxInline]int32
	followMany        []int32 // used instead of follow for more records
	records           []runtime.ContainerStatus
	containerMemories *memoryTree // the memory of each container
	// hasUnknownContainer: a container that is not in the spec has run in this incarnation.
	hasUnknownContainer bool
	// restartingAll: the published status shows that all containers were restarting, so the
	// published terminations of containers without a record do not count.
	restartingAll bool
}

// containerEntry has the records of one container.
type containerEntry struct {
	// spec is the container in the pod; nil for an ephemeral container.
	spec        *v1.Container
	runningHere *runtime.ContainerStatus // the newest one that runs in the current sandbox
	newestHere  *runtime.ContainerStatus // the newest one in the current sandbox
	newest      *runtime.ContainerStatus // the newest one of this incarnation
	exited      *runtime.ContainerStatus // the newest exited one of this incarnation
	newestRun   *runtime.ContainerStatus // the newest one of this incarnation that has run
	nextNumber  uint32                   // one more than the highest attempt of any incarnation
	first, last int32                    // the first and last record, as position plus one
	heldUntil   time.Time                // the end of the crash-loop delay; zero: no delay
	delay       time.Duration            // the length of the crash-loop delay
	hasCreated  bool                     // a record is in the state created
	published   *v1.ContainerStatus
	// publishedLost: the newest record belongs to an older attempt than the published one, so the
	// record does not show how the published attempt ended.
	publishedLost bool
}

// readRecords assigns each record to its container. Only the records of one incarnation and one
// sandbox count as current; sandbox may be anySandboxID.
func (x *recordIndex) readRecords(pod *v1.Pod, st *runtime.PodStatus, incarnation uint64, sandbox string) {
	x.records = st.Containers
	if len(x.records) > len(x.follow) {
		x.followMany = make([]int32, len(x.records))
	}
	x.addSpecContainers(&pod.Spec)
	for i := range x.records {
		rec := &x.records[i]
		e := x.entryByName(rec.Name)
		if e == nil {
			x.hasUnknownContainer = x.hasUnknownContainer || rec.Incarnation == incarnation && rec.State != runtime.StateCreated
			continue
		}
		x.linkRecord(e, i)
		e.addRecord(rec, incarnation, sandbox)
	}
}

// addSpecContainers adds an entry for each container of the spec.
func (x *recordIndex) addSpecContainers(s *v1.PodSpec) {
	x.nameIndex.addSpecNames(s)
	if x.count > maxInline {
		x.many = make([]containerEntry, x.count)
	}
	for i := range s.InitContainers {
		x.entryAt(i).spec = &s.InitContainers[i]
	}
	for i := range s.Containers {
		x.entryAt(len(s.InitContainers) + i).spec = &s.Containers[i]
	}
}

// entryAt returns the entry at a position of the spec.
func (x *recordIndex) entryAt(i int) *containerEntry {
	if x.many != nil {
		return &x.many[i]
	}
	return &x.inline[i]
}

// entryWithRecordsAt returns the entry that has the records of the container at a position of the
// spec. In a pod that was not validated a name may occur twice; then the first entry has the
// records of both.
func (x *recordIndex) entryWithRecordsAt(i int) *containerEntry {
	if e := x.entryAt(i); e.first != 0 || !x.hasDuplicate {
		return e
	}
	return x.entryByName(x.nameAt(i))
}

// entryByName returns the entry of a container; nil if the spec does not have it.
func (x *recordIndex) entryByName(name string) *containerEntry {
	if i := x.indexOf(name); i >= 0 {
		return x.entryAt(i)
	}
	return nil
}

// linkRecord appends a record to the list of records with its name.
func (x *recordIndex) linkRecord(e *containerEntry, i int) {
	at := int32(i) + 1
	if e.last == 0 {
		e.first = at
	} else {
		*x.nextLink(e.last) = at
	}
	e.last = at
}

// nextLink returns the list link of the record at a position plus one.
func (x *recordIndex) nextLink(at int32) *int32 {
	if x.followMany != nil {
		return &x.followMany[at-1]
	}
	return &x.follow[at-1]
}

// recordsOf returns the records of a container, of all incarnations.
func (x *recordIndex) recordsOf(e *containerEntry) iter.Seq[*runtime.ContainerStatus] {
	return func(yield func(*runtime.ContainerStatus) bool) {
		for at := e.first; at != 0; at = *x.nextLink(at) {
			if !yield(&x.records[at-1]) {
				return
			}
		}
	}
}

// addRecord updates the entry from one record.
func (e *containerEntry) addRecord(rec *runtime.ContainerStatus, incarnation uint64, sandbox string) {
	if rec.Attempt >= e.nextNumber {
		e.nextNumber = rec.Attempt + 1
	}
	e.hasCreated = e.hasCreated || rec.State == runtime.StateCreated
	if rec.Incarnation != incarnation {
		return
	}
	keepNewer(&e.newest, rec)
	if rec.State == runtime.StateExited {
		keepNewer(&e.exited, rec)
	}
	if rec.State != runtime.StateCreated {
		keepNewer(&e.newestRun, rec)
	}
	if sandbox != anySandboxID && rec.SandboxID != sandbox {
		return
	}
	keepNewer(&e.newestHere, rec)
	if rec.State == runtime.StateRunning {
		keepNewer(&e.runningHere, rec)
	}
}

// keepNewer replaces have by rec if rec is newer.
func keepNewer(have **runtime.ContainerStatus, rec *runtime.ContainerStatus) {
	if *have == nil || isNewerRecord(rec, *have) {
		*have = rec
	}
}

// hasFinishedContainer reports whether a container has run and may not run again.
func (x *recordIndex) hasFinishedContainer(pod *v1.Pod) bool {
	if x.hasUnknownContainer && pod.Spec.RestartPolicy == v1.RestartPolicyNever {
		return true
	}
	for i := range x.count {
		switch e := x.entryAt(i); {
		case e.spec == nil:
		case e.currentRecord() == nil && !x.restartingAll && x.isPublishedAsDone(e, pod, e.spec, podstatus.MayRestart):
			return true
		case e.newestRun != nil && !e.publishedLost && !podstatus.MayRestart(pod, e.spec, x.restartExitCode(e.newestRun)):
			return true
		}
	}
	return false
}

// currentRecord returns the newest record of this incarnation; nil if there is none, or only one of
// an older attempt than the published one.
func (e *containerEntry) currentRecord() *runtime.ContainerStatus {
	if e.publishedLost {
		return nil
	}
	return e.newest
}

// exitCodeOf returns the exit code of a record. A container that has not exited counts as
// exitUnknown, because its sandbox is about to stop.
func exitCodeOf(rec *runtime.ContainerStatus) int32 {
	if rec.State == runtime.StateExited {
		return rec.ExitCode
	}
	return exitUnknown
}

// restartExitCode returns the exit code that the restart policy is applied to: exitUnknown for a
// container that was stopped for its next attempt, and otherwise exitCodeOf.
func (x *recordIndex) restartExitCode(rec *runtime.ContainerStatus) int32 {
	return x.containerMemories.restartExitCode(rec.Name, rec.ID, exitCodeOf(rec))
}

// readPublished adds the published container statuses to the entries.
func (x *recordIndex) readPublished(s *v1.PodStatus) {
	for _, statuses := range [...][]v1.ContainerStatus{
		s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			if e := x.entryByName(statuses[i].Name); e != nil && e.published == nil {
				e.published = &statuses[i]
				e.publishedLost = e.newest != nil && isPublishedAttemptLost(e.newest, e.published)
			}
		}
	}
	for i := range x.count {
		x.restartingAll = x.restartingAll || x.entryAt(i).wasRestartAllCause()
	}
}

// wasRestartAllCause reports whether the exit of a container triggered a restart of all containers
// and its record is removed. That record is the last one that the restart removes.
func (e *containerEntry) wasRestartAllCause() bool {
	if e.newest != nil || e.spec == nil || len(e.spec.RestartPolicyRules) == 0 {
		return false
	}
	end := currentTermination(e.published)
	return end != nil && podstatus.RestartsAll(e.spec, end.ExitCode)
}
