package apiservertest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// Harness is the implementation under test, with the administrator and settings of the cases.
type Harness struct {
	// Server is the implementation, with the rights of the node. Required.
	Server apiserver.Server
	// Node is the name of the node. At the start of a case, neither the node nor pods that are bound to it exist.
	// Required.
	Node string
	// Admin has all rights at the same server. Required.
	Admin Administrator
	// Namespace is the namespace of the objects of the cases. It exists and has a service account "default". Empty
	// means "default".
	Namespace string
	// Compact makes the server lose its history, as after a restart. It may break streams. If it is nil, cases that
	// need it are skipped.
	Compact func() error
	// Clock is the clock of the cases. Nil means the real clock.
	Clock clock.Clock
	// Timeout bounds a case. Zero means 30 s.
	Timeout time.Duration
}

// setDefaultsAndValidate sets the default namespace, timeout and clock, and returns an error for missing
// required fields.
func (h *Harness) setDefaultsAndValidate() error {
	var errs []error
	if h.Server == nil {
		errs = append(errs, errors.New("apiservertest: the harness has no Server"))
	}
	if h.Node == "" {
		errs = append(errs, errors.New("apiservertest: the harness has no Node"))
	}
	if h.Admin == nil {
		errs = append(errs, errors.New("apiservertest: the harness has no Admin"))
	}
	h.Namespace = cmp.Or(h.Namespace, "default")
	h.Timeout = cmp.Or(h.Timeout, 30*time.Second)
	if h.Clock == nil {
		h.Clock = clock.RealClock{}
	}
	return errors.Join(errs...)
}

// Case is one promise with the code that checks it.
type Case struct {
	// Name is the name of the case, such as "watch/initial".
	Name string
	// Promise is the checked promise, in one sentence.
	Promise string

	run func(*bench)
}

// Cases returns all cases, for callers that run them in their own way.
func Cases() []Case {
	return slices.Concat(watchCases, podCases, deleteCases, mirrorCases, nodeCases, leaseCases, objectCases, tokenCases, reviewCases)
}

// Run checks every promise, each in a subtest with its own harness.
func Run(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory(t)) })
	}
}

// Run checks the promise on one server and deletes the objects of the case. An incomplete harness fails the case.
//
// Run calls only Errorf, FailNow, Helper and Skipf of t. A caller outside tests embeds a nil testing.TB and implements
// these methods.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	if err := h.setDefaultsAndValidate(); err != nil {
		t.Errorf("%v", err)
		t.FailNow()
		return
	}
	seam := executor.Over(h.Clock)
	ctx, cancel := seam.WithDeadline(context.Background(), seam.Now().Add(h.Timeout))
	defer cancel()
	b := &bench{Bench: conformance.Bench{T: t, Name: c.Name, Promise: c.Promise}, h: h, executor: seam, ctx: ctx}
	b.Do(func() {
		defer b.closeStreamsAndDeleteCreated()
		c.run(b)
	})
}
