package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// containerRecords has, for each container of a pod, the records that tell of it.
type containerRecords struct {
	names
	// With few containers they are in room, else in many.
	room [few]recordPair
	many []recordPair
	// regular and ephemeral are where those containers begin, in the order of the
	// spec: init, regular, ephemeral.
	regular, ephemeral int
}

// recordPair is the record that a container is, and the one that tells how it
// ended before. It is what runs in the pod's sandbox, as for Decide, or else the
// newest. Nil: there is none. [CS-1]
type recordPair struct{ is, before *runtime.ContainerStatus }

// read goes through the records of a pod, once.
func (x *containerRecords) read(in *StatusInput) {
	spec := &in.Pod.Spec
	x.regular = len(spec.InitContainers)
	x.ephemeral = x.regular + len(spec.Containers)
	x.names.read(spec)
	if x.count > few {
		x.many = make([]recordPair, x.count)
	}
	for i := range in.Runtime.Containers {
		rec := &in.Runtime.Containers[i]
		if rec.Incarnation != in.Incarnation {
			continue
		}
		if place := x.find(rec.Name); place >= 0 {
			x.place(place).note(in, rec)
		}
	}
}

func (x *containerRecords) place(i int) *recordPair {
	if x.many != nil {
		return &x.many[i]
	}
	return &x.room[i]
}

// note takes one record into account.
func (s *recordPair) note(in *StatusInput, rec *runtime.ContainerStatus) {
	switch {
	case s.is == nil || in.before(s.is, rec):
		s.is, s.before = rec, s.is
	case s.before == nil || newer(rec, s.before):
		s.before = rec
	}
}

// before reports whether b is what the container is rather than a.
func (in *StatusInput) before(a, b *runtime.ContainerStatus) bool {
	if x, y := in.runsHere(a), in.runsHere(b); x != y {
		return y
	}
	return newer(b, a)
}

func (in *StatusInput) runsHere(c *runtime.ContainerStatus) bool {
	return c.State == runtime.StateRunning && in.isHere(c)
}

// isHere reports whether a record is of the pod's sandbox.
func (in *StatusInput) isHere(c *runtime.ContainerStatus) bool {
	return in.place.current != nil && c.SandboxID == in.place.current.ID
}

// at are the records of the container at a place of the spec. Of several with one
// name the first has them.
func (x *containerRecords) at(i int) (is, before *runtime.ContainerStatus) {
	s := x.place(i)
	if s.is == nil && x.doubled {
		s = x.place(x.find(x.name(i)))
	}
	return s.is, s.before
}

// passed reports whether the pod has passed an ordinary init container, though no
// record says that it has succeeded: a container that is started only after it has
// one, of the sandbox in which the last attempt that there is of it failed, or of
// the current one. If nothing was published of it but that it failed, and no record
// tells in which sandbox that was, only the current one counts: that of a sandbox
// before was passed then, and did not help the attempt that failed.
func (x *containerRecords) passed(in *StatusInput, init int, failed bool) bool {
	is, _ := x.at(init)
	if is != nil && (is.State != runtime.StateExited || is.ExitCode == 0) {
		return false
	}
	for i := init + 1; i < x.ephemeral; i++ {
		later, _ := x.at(i)
		if later != nil && (is == nil && !failed || is != nil && later.SandboxID == is.SandboxID || in.isHere(later)) {
			return true
		}
	}
	return false
}
