package volumestest

import (
	"slices"
	"testing"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

// Harness is one implementation, made for one case.
type Harness struct {
	// Volumes is what is checked. Required. It knows no pod yet.
	Volumes podsync.Volumes
	// OnDisk says that the HostPath of a mount is a path on this machine, which the cases
	// may read and write.
	OnDisk bool
}

// Case is one promise and the code that checks it.
type Case struct {
	// Name is the case's, as "teardown/again".
	Name string
	// Promise is what is checked, in a sentence.
	Promise string

	onDisk bool
	reads  bool // needs a podsync.VolumeFileReader
	run    func(*bench)
}

// Run checks every promise, each in a subtest with a harness of its own.
func Run(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory(t)) })
	}
}

// Cases returns all cases, for a caller that runs them in another way.
func Cases() []Case {
	return slices.Concat(problemCases, setUpCases, mountCases, fileCases, tearDownCases)
}

// Run checks the promise on one implementation. It returns when every call that it made has
// returned, and tears its pods down.
//
// It calls Context, Errorf, FailNow, Helper and Skipf of t and nothing else: a caller that is no
// test embeds a nil testing.TB and implements those.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	if h.Volumes == nil {
		t.Errorf("volumestest: the harness has no Volumes")
		t.FailNow()
		return
	}
	if c.onDisk && !h.OnDisk {
		t.Skipf("%s: the volumes are not on this machine", c.Name)
		return
	}
	if _, ok := h.Volumes.(podsync.VolumeFileReader); c.reads && !ok {
		t.Skipf("%s: the Volumes are no VolumeFileReader", c.Name)
		return
	}
	b := &bench{Bench: conformance.Bench{T: t, Name: c.Name, Promise: c.Promise}, Harness: h}
	defer b.clear()
	b.Do(func() { c.run(b) })
}
