package plan

import (
	v1 "k8s.io/api/core/v1"

	rules "github.com/podkeel/podkeel/internal/restart"
	"github.com/podkeel/podkeel/runtime"
)

// few is how many containers are looked up by comparing names one by one, which
// for so many is faster than a map and takes no memory.
const few = 16

// index has what the records of a pod tell of each container of its spec, so
// that they are read once, however many there are of either.
type index struct {
	entries []entry
	byName  map[string]int // nil: there are few
	records []runtime.ContainerStatus
	// follow has the next record of the same name for each record, as its
	// position plus one. Zero: there is none.
	follow []int32
	// spent says that something has run that may not run again.
	spent bool
	// reset says that all containers were being made to begin anew, by what was
	// published: the ends of those without a record count for nothing.
	reset bool
}

// entry is what the records tell of one container.
type entry struct {
	name string
	// spec is nil for an ephemeral container.
	spec        *v1.Container
	running     *runtime.ContainerStatus // the newest that runs in the sandbox; it is what the container is
	here        *runtime.ContainerStatus // the newest in the sandbox
	newest      *runtime.ContainerStatus // the newest of this life
	ran         *runtime.ContainerStatus // the newest of this life that was more than created
	next        uint32                   // one more than the highest attempt, whatever the life
	first, last int32                    // the records, as positions plus one
	created     bool                     // one of them was only created
	published   *v1.ContainerStatus
}

// read goes through the records of a pod, once. Those of one life and sandbox
// are what its containers are; that may be anySandbox.
func (x *index) read(pod *v1.Pod, st *runtime.PodStatus, life uint64, sandbox string) {
	x.records = st.Containers
	x.name(pod)
	var e *entry
	strange := false
	for i := range st.Containers {
		rec := &st.Containers[i]
		if e == nil || e.name != rec.Name {
			e = x.of(rec.Name)
		}
		x.follow = append(x.follow, 0)
		if e == nil {
			strange = strange || rec.Incarnation == life && rec.State != runtime.StateCreated
			continue
		}
		x.link(e, i)
		e.note(rec, life, sandbox)
	}
	x.spent = strange && policyOf(pod, &v1.Container{}) == v1.RestartPolicyNever || x.anySpent(pod)
}

// name makes an entry for each name in the spec.
func (x *index) name(pod *v1.Pod) {
	s := &pod.Spec
	if n := len(s.InitContainers) + len(s.Containers) + len(s.EphemeralContainers); n > few {
		x.entries, x.byName = make([]entry, 0, n), make(map[string]int, n)
	}
	for i := range s.InitContainers {
		x.add(s.InitContainers[i].Name, &s.InitContainers[i])
	}
	for i := range s.Containers {
		x.add(s.Containers[i].Name, &s.Containers[i])
	}
	for i := range s.EphemeralContainers {
		x.add(s.EphemeralContainers[i].Name, nil)
	}
}

func (x *index) add(name string, spec *v1.Container) {
	if x.byName != nil {
		if _, ok := x.byName[name]; !ok {
			x.byName[name] = len(x.entries)
		}
	}
	x.entries = append(x.entries, entry{name: name, spec: spec})
}

// of finds the entry of a name. Nil: the spec has no such container.
func (x *index) of(name string) *entry {
	if x.byName != nil {
		if i, ok := x.byName[name]; ok {
			return &x.entries[i]
		}
		return nil
	}
	for i := range x.entries {
		if x.entries[i].name == name {
			return &x.entries[i]
		}
	}
	return nil
}

// link adds a record to those of its name, in their order.
func (x *index) link(e *entry, i int) {
	at := int32(i) + 1
	if e.last == 0 {
		e.first = at
	} else {
		x.follow[e.last-1] = at
	}
	e.last = at
}

// each calls f with every record of a container, of whatever life.
func (x *index) each(e *entry, f func(*runtime.ContainerStatus)) {
	for at := e.first; at != 0; at = x.follow[at-1] {
		f(&x.records[at-1])
	}
}

// note takes one record into account.
func (e *entry) note(rec *runtime.ContainerStatus, life uint64, sandbox string) {
	if rec.Attempt >= e.next {
		e.next = rec.Attempt + 1
	}
	e.created = e.created || rec.State == runtime.StateCreated
	if rec.Incarnation != life {
		return
	}
	later(&e.newest, rec)
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

// anySpent reports whether something of the spec has run that may not run again.
func (x *index) anySpent(pod *v1.Pod) bool {
	for i := range x.entries {
		e := &x.entries[i]
		if e.spec != nil && e.ran != nil && !mayRestart(pod, e.spec, lastCode(e.ran)) {
			return true
		}
	}
	return false
}

// lastCode is the exit code of a record, or of what becomes of one that may
// still run once its sandbox is gone.
func lastCode(rec *runtime.ContainerStatus) int32 {
	if rec.State == runtime.StateExited {
		return rec.ExitCode
	}
	return exitUnknown
}

// publish adds what was published of the containers.
func (x *index) publish(s *v1.PodStatus) {
	for _, statuses := range [...][]v1.ContainerStatus{
		s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			if e := x.of(statuses[i].Name); e != nil && e.published == nil {
				e.published = &statuses[i]
			}
		}
	}
	for i := range x.entries {
		x.reset = x.reset || x.entries[i].wasCause()
	}
}

// wasCause reports whether a container made all begin anew and has no record any
// more: it is the last that goes.
func (e *entry) wasCause() bool {
	if e.newest != nil || e.spec == nil || len(e.spec.RestartPolicyRules) == 0 {
		return false
	}
	end := currentEnd(e.published)
	return end != nil && rules.All(e.spec, end.ExitCode)
}
