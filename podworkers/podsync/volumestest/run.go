package volumestest

import (
	"slices"
	"testing"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

// Harness is one implementation, made for one case.
type Harness struct {
	// Volumes is the implementation to check. It is required, and has no pods yet.
	Volumes podsync.Volumes
	// OnDisk is true if the HostPath of a mount is a path on this machine that the cases may read and
	// write.
	OnDisk bool
}

// Case is one promise and the code that checks it.
type Case struct {
	// Name is the name of the case, for example "teardown/again".
	Name string
	// Promise is the checked behaviour in one sentence.
	Promise string

	needsDisk       bool
	needsFileReader bool // needs a podsync.VolumeFileReader
	run             func(*caseEnv)
}

// Run checks every promise. Each has a subtest and a harness of its own.
func Run(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory(t)) })
	}
}

// Cases returns all cases, for a caller that runs them in another way.
func Cases() []Case {
	return slices.Concat(problemCases, setUpCases, mountCases, fileCases, tearDownCases)
}

// Run checks the promise on one implementation. It returns after every call that it has made has
// returned. It tears down the pods of the case.
//
// It calls only Context, Errorf, FailNow, Helper and Skipf of t. A caller that is no test embeds a nil
// testing.TB and implements these.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	if h.Volumes == nil {
		t.Errorf("volumestest: the harness has no Volumes")
		t.FailNow()
		return
	}
	if c.needsDisk && !h.OnDisk {
		t.Skipf("%s: the volumes are not on this machine", c.Name)
		return
	}
	if _, ok := h.Volumes.(podsync.VolumeFileReader); c.needsFileReader && !ok {
		t.Skipf("%s: the Volumes are no VolumeFileReader", c.Name)
		return
	}
	b := &caseEnv{Bench: conformance.Bench{T: t, Name: c.Name, Promise: c.Promise}, Harness: h}
	defer b.tearDownPods()
	b.Do(func() { c.run(b) })
}
