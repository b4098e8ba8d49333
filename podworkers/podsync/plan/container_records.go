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

// readRecords reads the records of a pod once.
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

// pairAt returns the pair at a position of the spec.
func (x *containerRecords) pairAt(i int) *recordPair {
	if x.many != nil {
		return &x.many[i]
	}
	return &x.inline[i]
}

// addRecord updates the pair from one record.
func (s *recordPair) addRecord(in *StatusInput, rec *runtime.ContainerStatus) {
	switch {
	case s.current == nil || in.isMoreCurrent(s.current, rec):
		s.current, s.previous = rec, s.current
	case s.previous == nil || isNewerRecord(rec, s.previous):
		s.previous = rec
	}
}

// isMoreCurrent reports whether b, and not a, is the current record of a container.
func (in *StatusInput) isMoreCurrent(a, b *runtime.ContainerStatus) bool {
	if x, y := in.isRunningInCurrentSandbox(a), in.isRunningInCurrentSandbox(b); x != y {
		return y
	}
	return isNewerRecord(b, a)
}

// isRunningInCurrentSandbox reports whether a record shows a container that runs in the current
// sandbox.
func (in *StatusInput) isRunningInCurrentSandbox(c *runtime.ContainerStatus) bool {
	return c.State == runtime.StateRunning && in.isInCurrentSandbox(c)
}

// isInCurrentSandbox reports whether a record is in the current sandbox.
func (in *StatusInput) isInCurrentSandbox(c *runtime.ContainerStatus) bool {
	return in.sandboxes.current != nil && c.SandboxID == in.sandboxes.current.ID
}

// recordsAt returns the current and the previous record of the container at a position of the spec.
// If a name occurs twice, both positions have the records of the first.
func (x *containerRecords) recordsAt(i int) (is, before *runtime.ContainerStatus) {
	s := x.pairAt(i)
	if s.current == nil && x.hasDuplicate {
		s = x.pairAt(x.indexOf(x.nameAt(i)))
	}
	return s.current, s.previous
}

// hasPassedInit reports whether an ordinary init container must have succeeded, although no record
// shows it: a container that starts only after it has a record in the sandbox of its last failed
// attempt, or in the current sandbox. If the published status shows only a failure, and the record
// is lost, only the current sandbox counts: a success in an older sandbox came before that failure.
func (x *containerRecords) hasPassedInit(in *StatusInput, init int, failed bool) bool {
	is, _ := x.recordsAt(init)
	if is != nil && (is.State != runtime.StateExited || is.ExitCode == 0) {
		return false
	}
	for i := init + 1; i < x.ephemeral; i++ {
		later, _ := x.recordsAt(i)
		if later != nil && (is == nil && !failed || is != nil && later.SandboxID == is.SandboxID || in.isInCurrentSandbox(later)) {
			return true
		}
	}
	return false
}
