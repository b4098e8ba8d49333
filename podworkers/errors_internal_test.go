package podworkers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// TestJudge_Aggregates: every error that decides the result of a call is found inside an Aggregate
// of k8s.io/apimachinery, errors.Join and %w.
func TestJudge_Aggregates(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		err  error
		want callOutcome
		// beside is the result if the error is joined with an unmarked error.
		beside callOutcome
	}{
		"Terminal":              {Terminal(broken), callOutcome{result: lifecycle.FailedFinally}, callOutcome{result: lifecycle.Failed}},
		"RetryAfter":            {RetryAfter(broken, at), callOutcome{result: lifecycle.FailedRetryAt, retryAt: at}, callOutcome{result: lifecycle.FailedRetryAt, retryAt: at}},
		"RetryAt":               {RetryAt(broken, at), callOutcome{result: lifecycle.FailedRetryAt, retryAt: at, exactRetryAt: at}, callOutcome{result: lifecycle.FailedRetryAt, retryAt: at, exactRetryAt: at}},
		"RetryAt RetryAfter":    {errors.Join(RetryAt(broken, at), RetryAfter(broken, at.Add(-time.Hour))), callOutcome{result: lifecycle.FailedRetryAt, retryAt: at.Add(-time.Hour), exactRetryAt: at}, callOutcome{result: lifecycle.FailedRetryAt, retryAt: at.Add(-time.Hour), exactRetryAt: at}},
		"ErrExists":             {runtime.ErrExists, callOutcome{result: lifecycle.FailedTransient}, callOutcome{result: lifecycle.FailedTransient}},
		"ErrNetworkNotReady":    {runtime.ErrNetworkNotReady, callOutcome{result: lifecycle.FailedTransient}, callOutcome{result: lifecycle.FailedTransient}},
		"ErrNotReady":           {runtime.ErrNotReady, callOutcome{result: lifecycle.FailedRuntimeUnavailable}, callOutcome{result: lifecycle.FailedRuntimeUnavailable}},
		"RetryAfter ErrExists":  {RetryAfter(runtime.ErrExists, at), callOutcome{result: lifecycle.FailedRetryAt, retryAt: at}, callOutcome{result: lifecycle.FailedRetryAt, retryAt: at}},
		"Terminal ErrNotReady":  {Terminal(runtime.ErrNotReady), callOutcome{result: lifecycle.FailedFinally}, callOutcome{result: lifecycle.FailedRuntimeUnavailable}},
		"context.Canceled":      {context.Canceled, callOutcome{result: lifecycle.Cancelled}, callOutcome{result: lifecycle.Cancelled}},
		"ErrNotFound":           {runtime.ErrNotFound, callOutcome{result: lifecycle.Failed}, callOutcome{result: lifecycle.Failed}},
		"RetryAfter RetryAfter": {RetryAfter(RetryAfter(broken, at), at.Add(time.Hour)), callOutcome{result: lifecycle.FailedRetryAt, retryAt: at}, callOutcome{result: lifecycle.FailedRetryAt, retryAt: at}},
	} {
		for how, wrap := range errorWrappings() {
			j := &job{ctx: new(syncContext)}
			j.ctx.Init(context.Background())
			assert.Equal(t, c.want, classifyResult(j, false, wrap(c.err)), "%s in %s", name, how)
			for _, both := range []error{errors.Join(broken, wrap(c.err)), utilerrors.NewAggregate([]error{broken, wrap(c.err)})} {
				assert.Equal(t, c.beside, classifyResult(j, false, both), "%s in %s beside another", name, how)
			}
			j.ctx.Cancel(context.Canceled)
		}
	}
}

// errorWrappings returns the ways in which errors are combined.
func errorWrappings() map[string]func(error) error {
	return map[string]func(error) error{
		"nothing":            func(err error) error { return err },
		"%w":                 func(err error) error { return fmt.Errorf("a: %w", err) },
		"Join":               func(err error) error { return errors.Join(err, nil) },
		"an Aggregate":       func(err error) error { return utilerrors.NewAggregate([]error{err}) },
		"%w of an Aggregate": func(err error) error { return fmt.Errorf("a: %w", utilerrors.NewAggregate([]error{err})) },
		"an Aggregate of %w": func(err error) error { return utilerrors.NewAggregate([]error{fmt.Errorf("a: %w", err)}) },
		"an Aggregate of the same": func(err error) error {
			return utilerrors.NewAggregate([]error{err, utilerrors.NewAggregate([]error{err})})
		},
		"a Join of an Aggregate": func(err error) error { return errors.Join(utilerrors.NewAggregate([]error{err})) },
	}
}

// TestSentinels_Aggregates: errors.Is finds the sentinels of package runtime and of this package in
// each of them.
func TestSentinels_Aggregates(t *testing.T) {
	for _, sentinel := range []error{
		runtime.ErrNotFound, runtime.ErrExists, runtime.ErrWrongState, runtime.ErrNotReady, runtime.ErrNetworkNotReady, runtime.ErrImage, runtime.ErrUnsupported, runtime.ErrSecondRun,
		ErrInvalid, ErrStopped, ErrPodDesired, ErrNotDrained,
	} {
		for how, wrap := range errorWrappings() {
			assert.ErrorIs(t, wrap(sentinel), sentinel, how)
		}
	}
}
