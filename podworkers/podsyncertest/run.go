package podsyncertest

import (
	"cmp"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
)

// DefaultLimit is Harness.Limit if that is zero.
const DefaultLimit = 30 * time.Second

// Harness is one implementation, made for one case.
type Harness struct {
	// Syncer is what is checked. Required. It knows no pod yet.
	Syncer podworkers.PodSyncer
	// Runtime shows what runs, straight and not from a cache. Required. It may be called
	// concurrently.
	Runtime runtime.PodLister
	// Pod changes each pod before it is used: its image, say. Nil leaves it as it is.
	Pod func(*v1.Pod)
	// IgnoreStop changes a pod so that its container does not end when it is asked to, but
	// only when it is killed. Nil skips the cases with such pods.
	IgnoreStop func(*v1.Pod)
	// Exit makes the running container of a pod end by itself with that exit code. Nil
	// skips the cases with such containers.
	Exit func(uid types.UID, code int32) error
	// Restart returns the syncer of another process on the same machine: it knows nothing
	// but what Syncer has left there. Syncer is not called any more. Nil skips the cases
	// about restarts.
	Restart func() podworkers.PodSyncer
	// Limit is how long it may take until a pod has started or ended, repeated calls
	// included, and how long a call may take whose context has ended. Zero: DefaultLimit.
	Limit time.Duration
}

// Case is one promise and the code that checks it.
type Case struct {
	// Name is the case's, as "terminating/again".
	Name string
	// Promise is what is checked, in a sentence.
	Promise string

	needs need
	run   func(*bench)
}

// need is what a case needs of a harness beside a syncer and a runtime.
type need struct {
	what    string
	missing func(Harness) bool
}

var (
	ignoreStop = need{"IgnoreStop", func(h Harness) bool { return h.IgnoreStop == nil }}
	exit       = need{"Exit", func(h Harness) bool { return h.Exit == nil }}
	restart    = need{"Restart", func(h Harness) bool { return h.Restart == nil }}
)

// Run checks every promise, each in a subtest with a harness of its own.
func Run(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory(t)) })
	}
}

// Cases returns all cases, for a caller that runs them in another way.
func Cases() []Case {
	return slices.Concat(syncCases, terminatingCases, runtimeCases, terminatedCases, concurrentCases)
}

// Run checks the promise on one implementation. It ends the pods that it has started, and
// returns when every call that it made has returned, but for a call that ignores the end of
// its context.
//
// It calls Context, Errorf, FailNow, Helper and Skipf of t and nothing else: a caller that is no
// test embeds a nil testing.TB and implements those.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	if h.Syncer == nil || h.Runtime == nil {
		t.Errorf("podsyncertest: the harness has no Syncer or no Runtime")
		t.FailNow()
		return
	}
	if c.needs.missing != nil && c.needs.missing(h) {
		t.Skipf("%s: the harness has no %s", c.Name, c.needs.what)
		return
	}
	h.Limit = cmp.Or(h.Limit, DefaultLimit)
	b := &bench{Bench: conformance.Bench{T: t, Name: c.Name, Promise: c.Promise}, Harness: h, incarnation: 1}
	defer b.clear()
	b.Do(func() { c.run(b) })
}
