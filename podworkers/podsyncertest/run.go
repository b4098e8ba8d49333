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

// Harness is one implementation under test, made for one case.
type Harness struct {
	// Syncer is the implementation under test. Required. It has no pods yet.
	Syncer podworkers.PodSyncer
	// Runtime lists the running containers, directly and not from a cache. Required. It may be
	// called concurrently.
	Runtime runtime.PodLister
	// Pod changes each pod before it is used, for example its image. Nil changes nothing.
	Pod func(*v1.Pod)
	// IgnoreStop changes a pod so that its container ignores the stop signal and exits only when it
	// is killed. Nil skips the cases with such pods.
	IgnoreStop func(*v1.Pod)
	// Exit makes the running container of a pod exit with a code. Nil skips the cases with such
	// containers.
	Exit func(uid types.UID, code int32) error
	// Restart returns the syncer of a new process on the same machine: it knows only what Syncer
	// has stored there. Syncer is not called again. Nil skips the cases about restarts.
	Restart func() podworkers.PodSyncer
	// Limit is how long a pod may take to start or stop, including repeated calls, and how long a
	// call may take after its context has ended. Zero: DefaultLimit.
	Limit time.Duration
}

// Case is one promise of the contract and the code that checks it.
type Case struct {
	// Name of the case, for example "terminating/again".
	Name string
	// Promise is the checked promise, as a sentence.
	Promise string

	requires requirement
	run      func(*testCase)
}

// requirement is a function of a harness that a case needs.
type requirement struct {
	what    string
	missing func(Harness) bool
}

var (
	ignoreStop = requirement{"IgnoreStop", func(h Harness) bool { return h.IgnoreStop == nil }}
	exit       = requirement{"Exit", func(h Harness) bool { return h.Exit == nil }}
	restart    = requirement{"Restart", func(h Harness) bool { return h.Restart == nil }}
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

// Run checks the promise on one implementation. It stops the pods that it has started. It returns
// when every call that it made has returned, except for a call that ignores the end of its context.
//
// It only calls Context, Errorf, FailNow, Helper and Skipf of t. A caller without a test embeds a
// nil testing.TB and implements those.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	if h.Syncer == nil || h.Runtime == nil {
		t.Errorf("podsyncertest: the harness has no Syncer or no Runtime")
		t.FailNow()
		return
	}
	if c.requires.missing != nil && c.requires.missing(h) {
		t.Skipf("%s: the harness has no %s", c.Name, c.requires.what)
		return
	}
	h.Limit = cmp.Or(h.Limit, DefaultLimit)
	b := &testCase{Bench: conformance.Bench{T: t, Name: c.Name, Promise: c.Promise}, Harness: h, incarnation: 1}
	defer b.stopRemainingPods()
	b.Do(func() { c.run(b) })
}
