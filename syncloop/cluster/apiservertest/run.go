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

// Harness is the implementation under test and what the cases need beside.
type Harness struct {
	// Server is the implementation, with the rights of the node. Required.
	Server apiserver.Server
	// Node is the name of the node. No such node exists at the beginning of a case, nor
	// pods that are bound to it. Required.
	Node string
	// Admin may do everything at the same server. Required.
	Admin Administrator
	// Namespace is where the cases make their objects. It exists, and so does its service
	// account "default". Empty is "default".
	Namespace string
	// Compact has the server lose its history, as after a restart. It may break streams. Nil
	// skips the cases that need it.
	Compact func() error
	// Clock is what the cases wait on. Nil is the real clock.
	Clock clock.Clock
	// Timeout is how long a case may take. Zero is 30 s.
	Timeout time.Duration
}

// complete returns what is missing.
func (h *Harness) complete() error {
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

// Case is one promise and the code that checks it.
type Case struct {
	// Name is the case's, as "watch/initial".
	Name string
	// Promise is what is checked, in a sentence.
	Promise string

	run func(*bench)
}

// Cases returns all cases, for callers that run them in a way of their own.
func Cases() []Case {
	return slices.Concat(watchCases, podCases, deleteCases, mirrorCases, nodeCases, leaseCases, objectCases, tokenCases, reviewCases)
}

// Run checks every promise, each in a subtest with a harness of its own.
func Run(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory(t)) })
	}
}

// Run checks the promise on one server. What the case has made is deleted before it
// returns. An incomplete harness fails the case.
//
// It calls Errorf, FailNow, Helper and Skipf of t and nothing else: a caller that is no test embeds
// a nil testing.TB and implements those.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	if err := h.complete(); err != nil {
		t.Errorf("%v", err)
		t.FailNow()
		return
	}
	seam := executor.Over(h.Clock)
	ctx, cancel := seam.WithDeadline(context.Background(), seam.Now().Add(h.Timeout))
	defer cancel()
	b := &bench{Bench: conformance.Bench{T: t, Name: c.Name, Promise: c.Promise}, h: h, executor: seam, ctx: ctx}
	b.Do(func() {
		defer b.deleteCreated()
		c.run(b)
	})
}
