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

// run is one Run of a Follower, and its stream.
type run[T metav1.Object] struct {
	*Follower[T]
	stream  apiserver.Stream[T]
	until   time.Time // when the server has ended the stream at the latest
	outages int       // of the contact, before the last call
}

// step does what the machine says. Its error is that of the last wait or call.
func (r *run[T]) step(ctx context.Context, s follow.Step) error {
	switch s.Do {
	case follow.List:
		return r.list(ctx, s.Version)
	case follow.Watch:
		return r.watch(ctx, s.Options)
	case follow.Read:
		return r.read(ctx)
	default:
		return r.wait(ctx, s)
	}
}

func (r *run[T]) list(ctx context.Context, version string) error {
	var list apiserver.List[T]
	err := r.call(ctx, func(ctx context.Context) (err error) {
		list, err = r.cfg.Feed.List(ctx, version)
		return err
	})
	if !r.over(ctx, err) {
		r.tell(ctx, err, func(m *follow.Machine[T]) bool { return m.Listed(list, err, r.executor.Now()) })
	}
	return err
}

func (r *run[T]) watch(ctx context.Context, opts apiserver.WatchOptions) error {
	err := r.call(ctx, func(ctx context.Context) (err error) {
		r.stream, err = r.cfg.Feed.Watch(ctx, opts)
		return err
	})
	r.until = r.executor.Now().Add(opts.Timeout + r.cfg.CallTimeout)
	if !r.over(ctx, err) {
		r.tell(ctx, err, func(m *follow.Machine[T]) bool {
			m.Watching(err, r.executor.Now())
			return false
		})
	}
	return err
}

func (r *run[T]) read(ctx context.Context) error {
	reading, cancel := r.executor.WithDeadline(ctx, r.until)
	defer cancel()
	e, err := r.stream.Next(reading)
	if r.over(ctx, err) {
		return err
	}
	if err != nil {
		r.close()
	}
	if !errors.Is(err, io.EOF) {
		r.cfg.Contact.Report(err)
	}
	r.tell(ctx, err, func(m *follow.Machine[T]) bool {
		if err != nil {
			m.Ended(err, r.executor.Now())
			return false
		}
		return m.Event(e, r.executor.Now())
	})
	return err
}

func (r *run[T]) wait(ctx context.Context, s follow.Step) error {
	var answered bool
	var err error
	if s.UntilAnswer {
		answered, err = r.cfg.Contact.Wait(ctx, r.outages, s.Pause)
	} else {
		err = r.executor.Sleep(ctx, s.Pause)
	}
	if !r.over(ctx, err) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.mu.machine.Waited(answered)
	}
	return err
}

// call bounds a call, and reports how it ended.
func (r *run[T]) call(ctx context.Context, do func(context.Context) error) error {
	r.outages = r.cfg.Contact.State().Outages
	bounded, cancel := r.executor.WithDeadline(ctx, r.executor.Now().Add(r.cfg.CallTimeout))
	defer cancel()
	err := do(bounded)
	if !r.over(ctx, err) {
		r.cfg.Contact.Report(err)
	}
	return err
}

// over reports whether Run has to end: what a call returned then proves nothing.
func (r *run[T]) over(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil || errors.Is(err, executor.ErrCrashed)
}

// tell has the machine take something, and tells others of it.
func (r *run[T]) tell(ctx context.Context, err error, take func(*follow.Machine[T]) bool) {
	r.mu.Lock()
	changed := take(r.mu.machine)
	if changed && !r.mu.machine.Empty() {
		r.seen.Open()
	}
	health := r.mu.machine.Health()
	r.mu.Unlock()
	if changed && r.cfg.Changed != nil {
		_ = r.guard.Call("Changed", r.cfg.Changed)
	}
	if err != nil && health.Failures > 0 {
		level := slog.LevelWarn
		if health.Failures == 1 { // Most are over with the next attempt.
			level = slog.LevelInfo
		}
		r.cfg.Log.Log(ctx, level, "following a collection failed", "collection", r.cfg.Name, "failures", health.Failures, "err", err)
		if r.cfg.Failed != nil {
			r.cfg.Failed(err)
		}
	}
}

func (r *run[T]) close() {
	if r.stream != nil {
		r.stream.Close()
		r.stream = nil
	}
}

// end closes the stream, if one is open, and lets another Run begin.
func (r *run[T]) end() {
	r.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.machine.Closed()
	r.mu.runs = false
}
