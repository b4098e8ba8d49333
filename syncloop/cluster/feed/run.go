package feed

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/feed/internal/follow"
)

// followerRun is one Run of a Follower, with its stream.
type followerRun[T metav1.Object] struct {
	*Follower[T]
	stream         apiserver.Stream[T]
	streamDeadline time.Time // latest time at which the server ends the stream
	outages        int       // outages of the contact before the last call
}

// performStep performs a step of the state machine. It returns the error of the wait or call.
func (r *followerRun[T]) performStep(ctx context.Context, s follow.Step) error {
	switch s.Do {
	case follow.List:
		return r.listObjects(ctx, s.Version)
	case follow.Watch:
		return r.openWatchAndReportToMachine(ctx, s.Options)
	case follow.Read:
		return r.readEvent(ctx)
	default:
		return r.waitForRetry(ctx, s)
	}
}

// listObjects lists the collection and passes the list or the error to the state machine.
func (r *followerRun[T]) listObjects(ctx context.Context, version string) error {
	var list apiserver.List[T]
	err := r.callWithTimeout(ctx, func(ctx context.Context) (err error) {
		list, err = r.cfg.Feed.List(ctx, version)
		return err
	})
	if !r.hasContextOrExecutorEnded(ctx, err) {
		r.updateMachineAndNotify(ctx, err, func(m *follow.Machine[T]) bool { return m.Listed(list, err, r.executor.Now()) })
	}
	return err
}

// openWatchAndReportToMachine opens a watch stream, sets the deadline of its reads, and passes the result to
// the state machine.
func (r *followerRun[T]) openWatchAndReportToMachine(ctx context.Context, opts apiserver.WatchOptions) error {
	err := r.callWithTimeout(ctx, func(ctx context.Context) (err error) {
		r.stream, err = r.cfg.Feed.Watch(ctx, opts)
		return err
	})
	r.streamDeadline = r.executor.Now().Add(opts.Timeout + r.cfg.CallTimeout)
	if !r.hasContextOrExecutorEnded(ctx, err) {
		r.updateMachineAndNotify(ctx, err, func(m *follow.Machine[T]) bool {
			m.Watching(err, r.executor.Now())
			return false
		})
	}
	return err
}

// readEvent reads an event from the stream and passes it to the state machine. If the read fails, it closes the
// stream. It reports the result to the Contact, except the regular end of a stream.
func (r *followerRun[T]) readEvent(ctx context.Context) error {
	reading, cancel := r.executor.WithDeadline(ctx, r.streamDeadline)
	defer cancel()
	e, err := r.stream.Next(reading)
	if r.hasContextOrExecutorEnded(ctx, err) {
		return err
	}
	if err != nil {
		r.closeStream()
	}
	if !errors.Is(err, io.EOF) {
		r.cfg.Contact.Report(err)
	}
	r.updateMachineAndNotify(ctx, err, func(m *follow.Machine[T]) bool {
		if err != nil {
			m.Ended(err, r.executor.Now())
			return false
		}
		return m.Event(e, r.executor.Now())
	})
	return err
}

// waitForRetry waits for the pause of a step. If the step allows it, the wait ends early when an outage of the
// server ends.
func (r *followerRun[T]) waitForRetry(ctx context.Context, s follow.Step) error {
	var answered bool
	var err error
	if s.UntilAnswer {
		answered, err = r.cfg.Contact.Wait(ctx, r.outages, s.Pause)
	} else {
		err = r.executor.Sleep(ctx, s.Pause)
	}
	if !r.hasContextOrExecutorEnded(ctx, err) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.mu.machine.Waited(answered)
	}
	return err
}

// callWithTimeout runs do, which calls the API server, with the call timeout. It reports to the Contact whether
// the server has answered.
func (r *followerRun[T]) callWithTimeout(ctx context.Context, do func(context.Context) error) error {
	r.outages = r.cfg.Contact.State().Outages
	bounded, cancel := r.executor.WithDeadline(ctx, r.executor.Now().Add(r.cfg.CallTimeout))
	defer cancel()
	err := do(bounded)
	if !r.hasContextOrExecutorEnded(ctx, err) {
		r.cfg.Contact.Report(err)
	}
	return err
}

// hasContextOrExecutorEnded reports whether Run has to return, because ctx is done or the executor has crashed.
// The error of a call to the server then proves nothing.
func (r *followerRun[T]) hasContextOrExecutorEnded(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil || errors.Is(err, executor.ErrCrashed)
}

// updateMachineAndNotify passes the result of a call to the state machine by update. If the collection has
// changed, it calls Changed, and if the collection has an object, it wakes those who wait for a first object.
// If the call was a failure for the state machine, it logs the error and calls Failed.
func (r *followerRun[T]) updateMachineAndNotify(ctx context.Context, err error, update func(*follow.Machine[T]) bool) {
	r.mu.Lock()
	changed := update(r.mu.machine)
	if changed && !r.mu.machine.Empty() {
		r.hasObject.Open()
	}
	health := r.mu.machine.Health()
	r.mu.Unlock()
	if changed && r.cfg.Changed != nil {
		_ = r.guard.Call("Changed", r.cfg.Changed)
	}
	if err != nil && health.Failures > 0 {
		level := slog.LevelWarn
		if health.Failures == 1 { // The next attempt mostly succeeds.
			level = slog.LevelInfo
		}
		r.cfg.Log.Log(ctx, level, "cannot follow a collection", "collection", r.cfg.Name, "failures", health.Failures, "err", err)
		if r.cfg.Failed != nil {
			r.cfg.Failed(err)
		}
	}
}

// closeStream closes the stream if one is open.
func (r *followerRun[T]) closeStream() {
	if r.stream != nil {
		r.stream.Close()
		r.stream = nil
	}
}

// finishRun closes the stream, records the end of the stream in the state machine, and allows another Run.
func (r *followerRun[T]) finishRun() {
	r.closeStream()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.machine.Closed()
	r.mu.runs = false
}
