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

// readRecords indexes the container names of the spec and adds each runtime record to the entry of its
// container. Only records of the given incarnation (one of several pods in turn with the same UID) and sandbox
// count as current. The sandbox anySandboxID matches every sandbox.
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
		x.linkRecordAtEnd(e, i)
		e.addRecord(rec, incarnation, sandbox)
	}
}

// addSpecContainers indexes the names of all containers of the spec. It sets the spec in the entry of each init
// and regular container; ephemeral containers have none.
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

// entryAt returns the entry of the container at a position of the spec. The caller may change the entry.
func (x *recordIndex) entryAt(i int) *containerEntry {
	if x.many != nil {
		return &x.many[i]
	}
	return &x.inline[i]
}

// entryAtOrFirstOfSameName returns the entry of the container at a position of the spec. If a name occurs twice and
// this entry has no records, it returns the first entry with the name, which has the records of both.
func (x *recordIndex) entryAtOrFirstOfSameName(i int) *containerEntry {
	if e := x.entryAt(i); e.first != 0 || !x.hasDuplicate {
		return e
	}
	return x.entryByName(x.nameAt(i))
}

// entryByName returns the entry of the first container with a name. It returns nil if the spec has no such
// container.
func (x *recordIndex) entryByName(name string) *containerEntry {
	if i := x.indexOf(name); i >= 0 {
		return x.entryAt(i)
	}
	return nil
}

// linkRecordAtEnd appends the record at a position to the linked list of the container's records.
func (x *recordIndex) linkRecordAtEnd(e *containerEntry, position int) {
	at := int32(position) + 1
	if e.last == 0 {
		e.first = at
	} else {
		*x.nextLink(e.last) = at
	}
	e.last = at
}

// nextLink returns a pointer to the position of the next runtime container in a linked list. Positions in the
// list are one higher than in the slice, because zero means the end.
func (x *recordIndex) nextLink(positionPlusOne int32) *int32 {
	if x.followMany != nil {
		return &x.followMany[positionPlusOne-1]
	}
	return &x.follow[positionPlusOne-1]
}

// recordsOf returns an iterator over all records of a container, including the records of former pods with the
// same UID.
func (x *recordIndex) recordsOf(e *containerEntry) iter.Seq[*runtime.ContainerStatus] {
	return func(yield func(*runtime.ContainerStatus) bool) {
		for at := e.first; at != 0; at = *x.nextLink(at) {
			if !yield(&x.records[at-1]) {
				return
			}
		}
	}
}

// addRecord updates the entry from one record: the next attempt number, and the newest records by state and
// sandbox. A record of a former pod with the same UID counts only for the attempt number and for the flag that
// a created container exists.
func (e *containerEntry) addRecord(rec *runtime.ContainerStatus, incarnation uint64, sandbox string) {
	if rec.Attempt >= e.nextNumber {
		e.nextNumber = rec.Attempt + 1
	}
	e.hasCreated = e.hasCreated || rec.State == runtime.StateCreated
	if rec.Incarnation != incarnation {
		return
	}
	replaceIfNewer(&e.newest, rec)
	if rec.State == runtime.StateExited {
		replaceIfNewer(&e.exited, rec)
	}
	if rec.State != runtime.StateCreated {
		replaceIfNewer(&e.newestRun, rec)
	}
	if sandbox != anySandboxID && rec.SandboxID != sandbox {
		return
	}
	replaceIfNewer(&e.newestHere, rec)
	if rec.State == runtime.StateRunning {
		replaceIfNewer(&e.runningHere, rec)
	}
}

// replaceIfNewer sets *have to rec if *have is nil or older.
func replaceIfNewer(have **runtime.ContainerStatus, rec *runtime.ContainerStatus) {
	if *have == nil || isNewerRecord(rec, *have) {
		*have = rec
	}
}

// hasFinishedContainer reports whether any container has run and may not run again. If the restart policy of
// the pod is Never, a container that is not in the spec counts too. For a container that the runtime has lost
// the published status decides.
func (x *recordIndex) hasFinishedContainer(pod *v1.Pod) bool {
	if x.hasUnknownContainer && pod.Spec.RestartPolicy == v1.RestartPolicyNever {
		return true
	}
	for i := range x.count {
		switch e := x.entryAt(i); {
		case e.spec == nil:
		case e.currentRecordUnlessLost() == nil && !x.restartingAll && x.isPublishedAsDone(e, pod, e.spec, podstatus.MayRestart):
			return true
		case e.newestRun != nil && !e.publishedLost && !podstatus.MayRestart(pod, e.spec, x.restartExitCode(e.newestRun)):
			return true
		}
	}
	return false
}

// currentRecordUnlessLost returns the newest record of the container in the current pod. It returns nil if there is no
// record, or if the published status shows a later attempt whose record is lost.
func (e *containerEntry) currentRecordUnlessLost() *runtime.ContainerStatus {
	if e.publishedLost {
		return nil
	}
	return e.newest
}

// exitCodeOrUnknown returns the exit code of a record, or exitUnknown (137) if the container has not exited.
func exitCodeOrUnknown(rec *runtime.ContainerStatus) int32 {
	if rec.State == runtime.StateExited {
		return rec.ExitCode
	}
	return exitUnknown
}

// restartExitCode returns the exit code that decides about a restart after a record. It is exitUnknown (137) if
// the container has not exited, or if the executor stopped it for its next attempt.
func (x *recordIndex) restartExitCode(rec *runtime.ContainerStatus) int32 {
	return x.containerMemories.restartExitCode(rec.Name, rec.ID, exitCodeOrUnknown(rec))
}

// readPublished stores in each entry the published status of its container, and whether the runtime has lost
// the published attempt. It also sets restartingAll if a published exit triggered a restart of all containers.
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

// wasRestartAllCause reports whether the published exit of the container triggers a restart of all containers
// and the record of the container is already removed. A restart removes that record last.
func (e *containerEntry) wasRestartAllCause() bool {
	if e.newest != nil || e.spec == nil || len(e.spec.RestartPolicyRules) == 0 {
		return false
	}
	end := currentTermination(e.published)
	return end != nil && podstatus.RestartsAll(e.spec, end.ExitCode)
}
