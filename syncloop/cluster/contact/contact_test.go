package contact_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errRefused = errors.New("connection refused")

// CF-26: the first answer ends all waits; a wait that begins late ends at once.
func TestWait_CF26_TheFirstAnswerEndsAll(t *testing.T) {
	simulation := executor.NewScheduler(1, time.Unix(0, 0))
	process := simulation.NewProcess()
	c := contact.New(contact.Config{Clock: process.Clock()})
	var log []string
	before := c.State().Outages
	c.Report(errRefused)
	for i := range 3 {
		process.Go(func() {
			answered, err := c.Wait(context.Background(), before, time.Duration(10+10*i)*time.Second)
			log = append(log, fmt.Sprint(simulation.Now().Unix(), "s ", i, " ", answered, " ", err))
		})
	}
	simulation.RunUntil(time.Unix(15, 0))
	require.Equal(t, []string{"10s 0 false <nil>"}, log)
	require.Equal(t, contact.State{Since: time.Unix(0, 0).UTC(), Failures: 1, OutagesBegun: 1, Err: errRefused}, utc(c.State()))
	c.Report(nil)
	simulation.RunUntilIdle()
	require.ElementsMatch(t, []string{"15s 1 true <nil>", "15s 2 true <nil>"}, log[1:])
	require.Equal(t, contact.State{Available: true, Since: time.Unix(15, 0).UTC(), Outages: 1, OutagesBegun: 1}, utc(c.State()))

	process.Go(func() {
		answered, err := c.Wait(context.Background(), before, time.Hour)
		log = append(log, fmt.Sprint("late ", answered, " ", err))
		ctx, cancel := executor.WithCancel(context.Background())
		cancel()
		answered, err = c.Wait(ctx, c.State().Outages, time.Hour)
		log = append(log, fmt.Sprint("ended ", answered, " ", err))
	})
	simulation.RunUntilIdle()
	require.Equal(t, []string{"late true <nil>", "ended false context canceled"}, log[3:])
}

func utc(s contact.State) contact.State {
	s.Since = s.Since.UTC()
	return s
}

// CF-26: what proves that the server is there, and what that it is not.
func TestReport_CF26_WhatAnAnswerIs(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, test := range []struct {
		err             error
		failure, answer bool
	}{
		{nil, false, true},
		{errRefused, true, false},
		{apierrors.NewNotFound(pods, "p"), false, true},
		{apierrors.NewConflict(pods, "p", nil), false, true},
		{apierrors.NewForbidden(pods, "p", nil), false, false},
		{apierrors.NewBadRequest(""), false, true},
		{apierrors.NewServiceUnavailable(""), true, false},
		{apierrors.NewUnauthorized(""), true, false},
		{apierrors.NewTooManyRequests("", 1), false, false},
		{apierrors.NewInternalError(errRefused), false, false},
		{apierrors.NewTimeoutError("", 1), false, false},
		{apierrors.NewResourceExpired("410"), false, true},
		{fmt.Errorf("the caller has given up: %w", context.Canceled), false, false},
	} {
		c := contact.New(contact.Config{})
		woken := 0
		stop := c.OnOutageEnd(func() { woken++ })
		c.Report(test.err)
		require.Equal(t, test.failure, !c.State().Available, "%v", test.err)
		require.Zero(t, woken, "there was no outage")
		c.Report(errRefused)
		c.Report(test.err)
		require.Equal(t, test.answer, woken == 1, "%v", test.err)
		stop()
		c.Report(nil)
		require.LessOrEqual(t, woken, 1)
	}
}

// A server that answers one call and refuses the next for ever ends waits five times at once, and
// then once in 15 seconds: or all would be retried without a pause.
func TestReport_ManyShortOutages(t *testing.T) {
	simulation := executor.NewScheduler(1, time.Unix(0, 0))
	c := contact.New(contact.Config{Clock: simulation.NewProcess().Clock()})
	woken := 0
	defer c.OnOutageEnd(func() { woken++ })()
	for range 10_000 {
		c.Report(errRefused)
		c.Report(nil)
		require.True(t, c.State().Available)
		simulation.RunUntil(simulation.Now().Add(30 * time.Millisecond))
	}
	require.Equal(t, 5+300/15-1, woken)
	require.Equal(t, woken, c.State().Outages)
	simulation.RunUntil(simulation.Now().Add(2 * time.Minute))
	for range 10 {
		c.Report(errRefused)
		c.Report(nil)
	}
	require.Equal(t, 5+300/15-1+5, woken)
}
