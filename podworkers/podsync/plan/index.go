package plan

import (
	"iter"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// index has what the records of a pod tell of each container of its spec, so
// that they are read once, however many there are of either.
type index struct {
	// The entries are in the order of the spec: init, regular, ephemeral. With
	// few they are in room, else in many.
	names
	room [few]entry
	many []entry
	// follow has the next record of the same name for each record, as its
	// position plus one. Zero: there is none.
	follow     [2 * few]int32
	followMany []int32 // for more records
	records    []runtime.ContainerStatus
	pasts      *pasts // what was replaced
	// strange says that something has run in this incarnation that is not in the spec.
	strange bool
	// reset says that all containers were being made to begin anew, by what was
	// published: the ends of those without a record count for nothing.
	reset bool
}

// entry is what the records tell of one container.
type entry struct {
	// spec is nil for an ephemeral container.
	spec        *v1.Container
	running     *runtime.ContainerStatus // the newest that runs in the sandbox; it is what the container is
	here        *runtime.ContainerStatus // the newest in the sandbox
	newest      *runtime.ContainerStatus // the newest of this incarnation
	exited      *runtime.ContainerStatus // the newest of this incarnation that has exited
	ran         *runtime.ContainerStatus // the newest of this incarnation that was more than created
	next        uint32                   // one more than the highest attempt, whatever the life
	first, last int32                    // the records, as positions plus one
	heldUntil   time.Time                // the end of its crash-loop delay; zero: none
	delay       time.Duration            // how long that is
	created     bool                     // one of them was only created
	published   *v1.ContainerStatus
	// gone says that the newest record is that of an older attempt than was
	// published: how that one ended is not how this one did.
	gone bool
}

// read goes through the records of a pod, once. Those of one incarnation and sandbox
// are what its containers are; that may be anySandbox.
func (x *index) read(pod *v1.Pod, st *runtime.PodStatus, incarnation uint64, sandbox string) {
	x.records = st.Containers
	if len(x.records) > len(x.follow) {
		x.followMany = make([]int32, len(x.records))
	}
	x.enter(&pod.Spec)
	for i := range x.records {
		rec := &x.records[i]
		e := x.of(rec.Name)
		if e == nil {
			x.strange = x.strange || rec.Incarnation == incarnation && rec.State != runtime.StateCreated
			continue
		}
		x.link(e, i)
		e.note(rec, incarnation, sandbox)
	}
}

// enter makes an entry for each container in the spec.
func (x *index) enter(s *v1.PodSpec) {
	x.names.read(s)
	if x.count > few {
		x.many = make([]entry, x.count)
	}
	for i := range s.InitContainers {
		x.place(i).spec = &s.InitContainers[i]
	}
	for i := range s.Containers {
		x.place(len(s.InitContainers) + i).spec = &s.Containers[i]
	}
}

// place is the entry at a place of the spec.
func (x *index) place(i int) *entry {
	if x.many != nil {
		return &x.many[i]
	}
	return &x.room[i]
}

// at is what the records tell of the container at a place of the spec. Nobody has
// seen to it that a name is there once: the first has the records.
func (x *index) at(i int) *entry {
	if e := x.place(i); e.first != 0 || !x.doubled {
		return e
	}
	return x.of(x.name(i))
}

// of finds the entry of a name. Nil: the spec has no such container.
func (x *index) of(name string) *entry {
	if i := x.find(name); i >= 0 {
		return x.place(i)
	}
	return nil
}

// link adds a record to those of its name, in their order.
func (x *index) link(e *entry, i int) {
	at := int32(i) + 1
	if e.last == 0 {
		e.first = at
	} else {
		*x.next(e.last) = at
	}
	e.last = at
}

// next is where the record that follows one of the same name is noted.
func (x *index) next(at int32) *int32 {
	if x.followMany != nil {
		return &x.followMany[at-1]
	}
	return &x.follow[at-1]
}

// all are the records of a container, of whatever incarnation.
func (x *index) all(e *entry) iter.Seq[*runtime.ContainerStatus] {
	return func(yield func(*runtime.ContainerStatus) bool) {
		for at := e.first; at != 0; at = *x.next(at) {
			if !yield(&x.records[at-1]) {
				return
			}
		}
	}
}

// note takes one record into account.
func (e *entry) note(rec *runtime.ContainerStatus, incarnation uint64, sandbox string) {
	if rec.Attempt >= e.next {
		e.next = rec.Attempt + 1
	}
	e.created = e.created || rec.State == runtime.StateCreated
	if rec.Incarnation != incarnation {
		return
	}
	later(&e.newest, rec)
	if rec.State == runtime.StateExited {
		later(&e.exited, rec)
	}
	if rec.State != runtime.StateCreated {
		later(&e.ran, rec)
	}
	if sandbox != anySandbox && rec.SandboxID != sandbox {
		return
	}
	later(&e.here, rec)
	if rec.State == runtime.StateRunning {
		later(&e.running, rec)
	}
}

// later keeps the newer of two records.
func later(have **runtime.ContainerStatus, rec *runtime.ContainerStatus) {
	if *have == nil || newer(rec, *have) {
		*have = rec
	}
}

// anySpent reports whether something has run that may not run again.
func (x *index) anySpent(pod *v1.Pod) bool {
	if x.strange && pod.Spec.RestartPolicy == v1.RestartPolicyNever {
		return true
	}
	for i := range x.count {
		switch e := x.place(i); {
		case e.spec == nil:
		case e.record() == nil && !x.reset && x.saidDone(e, pod, e.spec, podstatus.MayRestart):
			return true
		case e.ran != nil && !e.gone && !podstatus.MayRestart(pod, e.spec, x.code(e.ran)):
			return true
		}
	}
	return false
}

// record is the newest of this incarnation. Nil: there is none, or only of older attempts
// than was published.
func (e *entry) record() *runtime.ContainerStatus {
	if e.gone {
		return nil
	}
	return e.newest
}

// lastCode is the exit code of a record, or of what becomes of one that may
// still run once its sandbox is gone.
func lastCode(rec *runtime.ContainerStatus) int32 {
	if rec.State == runtime.StateExited {
		return rec.ExitCode
	}
	return exitUnknown
}

// code is lastCode, unless the container was told to end for the sake of the next
// attempt.
func (x *index) code(rec *runtime.ContainerStatus) int32 {
	return x.pasts.code(rec.Name, rec.ID, lastCode(rec))
}

// publish adds what was published of the containers.
func (x *index) publish(s *v1.PodStatus) {
	for _, statuses := range [...][]v1.ContainerStatus{
		s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			if e := x.of(statuses[i].Name); e != nil && e.published == nil {
				e.published = &statuses[i]
				e.gone = e.newest != nil && isLost(e.newest, e.published)
			}
		}
	}
	for i := range x.count {
		x.reset = x.reset || x.place(i).wasCause()
	}
}

// wasCause reports whether a container made all begin anew and has no record any
// more: it is the last that goes.
func (e *entry) wasCause() bool {
	if e.newest != nil || e.spec == nil || len(e.spec.RestartPolicyRules) == 0 {
		return false
	}
	end := currentEnd(e.published)
	return end != nil && podstatus.RestartsAll(e.spec, end.ExitCode)
}
