package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// containerRecords has the two newest records of each container of a pod.
type containerRecords struct {
	nameIndex
	// Up to maxInline pairs are in inline, more are in many.
	inline [maxInline]recordPair
	many   []recordPair
	// regular and ephemeral are the positions of the first container of those kinds in the spec
	// order: init, regular, ephemeral.
	regular, ephemeral int
}

// recordPair has the current record of a container and the one before it. The current one is the
// record that runs in the pod's sandbox, as for Decide, or else the newest. Nil: there is none
// (CS-1).
type recordPair struct{ current, previous *runtime.ContainerStatus }

// readRecords indexes the container names of the spec, and stores the current and the previous runtime record
// of each container. It skips records of former pods with the same UID, and records of containers that are not
// in the spec.
func (x *containerRecords) readRecords(in *StatusInput) {
	spec := &in.Pod.Spec
	x.regular = len(spec.InitContainers)
	x.ephemeral = x.regular + len(spec.Containers)
	x.nameIndex.addSpecNames(spec)
	if x.count > maxInline {
		x.many = make([]recordPair, x.count)
	}
	for i := range in.Runtime.Containers {
		rec := &in.Runtime.Containers[i]
		if rec.Incarnation != in.Incarnation {
			continue
		}
		if place := x.indexOf(rec.Name); place >= 0 {
			x.pairAt(place).addRecord(in, rec)
		}
	}
}

// pairAt returns the stored record pair of the container at a position of the spec. The caller may change the
// pair.
func (x *containerRecords) pairAt(i int) *recordPair {
	if x.many != nil {
		return &x.many[i]
	}
	return &x.inline[i]
}

// addRecord stores a record as the current or as the previous record of the container. It drops the record if
// both stored records take precedence.
func (s *recordPair) addRecord(in *StatusInput, rec *runtime.ContainerStatus) {
	switch {
	case s.current == nil || in.isMoreCurrent(s.current, rec):
		s.current, s.previous = rec, s.current
	case s.previous == nil || isNewerRecord(rec, s.previous):
		s.previous = rec
	}
}

// isMoreCurrent reports whether candidate replaces current as the current record of a container. A record that
// runs in the current sandbox takes precedence over one that does not. In all other cases the newer record
// does.
func (in *StatusInput) isMoreCurrent(current, candidate *runtime.ContainerStatus) bool {
	if x, y := in.isRunningInCurrentSandbox(current), in.isRunningInCurrentSandbox(candidate); x != y {
		return y
	}
	return isNewerRecord(candidate, current)
}

// isRunningInCurrentSandbox reports whether a record shows a running container in the current sandbox.
func (in *StatusInput) isRunningInCurrentSandbox(c *runtime.ContainerStatus) bool {
	return c.State == runtime.StateRunning && in.isInCurrentSandbox(c)
}

// isInCurrentSandbox reports whether a container record belongs to the current sandbox. It returns false if the
// pod has no current sandbox.
func (in *StatusInput) isInCurrentSandbox(c *runtime.ContainerStatus) bool {
	return in.sandboxes.current != nil && c.SandboxID == in.sandboxes.current.ID
}

// recordsAt returns the current and the previous record of the container at a position of the spec, each nil if
// missing. If two containers have the same name, both positions return the records of the first.
func (x *containerRecords) recordsAt(i int) (current, previous *runtime.ContainerStatus) {
	s := x.pairAt(i)
	if s.current == nil && x.hasDuplicate {
		s = x.pairAt(x.indexOf(x.nameAt(i)))
	}
	return s.current, s.previous
}

// isInitSuccessImplied reports whether an ordinary init container must have succeeded although no record shows
// that. The proof is a record of a later init or regular container in the current sandbox, or in the sandbox of
// the last failed attempt. If the init container has no record, any sandbox counts, but only the current one if
// lastPublishedAsFailed is true.
func (x *containerRecords) isInitSuccessImplied(in *StatusInput, initIndex int, lastPublishedAsFailed bool) bool {
	is, _ := x.recordsAt(initIndex)
	if is != nil && (is.State != runtime.StateExited || is.ExitCode == 0) {
		return false
	}
	for i := initIndex + 1; i < x.ephemeral; i++ {
		later, _ := x.recordsAt(i)
		if later != nil && (is == nil && !lastPublishedAsFailed || is != nil && later.SandboxID == is.SandboxID || in.isInCurrentSandbox(later)) {
			return true
		}
	}
	return false
}
