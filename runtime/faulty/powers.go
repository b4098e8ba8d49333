package faulty

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// RuntimeStatus implements runtime.StatusReporter.
func (b *base) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return call(ctx, b, RuntimeStatus, about{}, func() (runtime.RuntimeStatus, error) {
		if reporter, ok := b.inner.(runtime.StatusReporter); ok {
			return reporter.RuntimeStatus(ctx)
		}
		return runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}, nil
	})
}

// Version implements runtime.Versioner.
func (b *base) Version(ctx context.Context) (name, version string, err error) {
	v, err := call(ctx, b, Version, about{}, func() (v [2]string, err error) {
		versioner, ok := b.inner.(runtime.Versioner)
		if !ok {
			return v, fmt.Errorf("faulty: Version: %w", runtime.ErrUnsupported)
		}
		v[0], v[1], err = versioner.Version(ctx)
		return v, err
	})
	return v[0], v[1], err
}

// ImageFilesystem implements runtime.ImageFilesystem. Of a runtime that is none
// nothing is known.
func (b *base) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	return call(ctx, b, ImageFilesystem, about{}, func() (runtime.FilesystemUsage, error) {
		if disk, ok := b.inner.(runtime.ImageFilesystem); ok {
			return disk.ImageFilesystem(ctx)
		}
		return runtime.FilesystemUsage{}, nil
	})
}

// Each of the following is one power of a wrapper. They are types of their own
// so that a wrapper can have just those that the runtime beneath has.
type (
	events  struct{ b *base }
	execs   struct{ b *base }
	logs    struct{ b *base }
	stats   struct{ b *base }
	updates struct{ b *base }
	answers struct{ b *base }
)

func (e events) Events(ctx context.Context, sink func(runtime.Event)) error {
	f := e.b.f
	return act(ctx, e.b, Events, about{}, func() error {
		return e.b.inner.(runtime.EventSource).Events(ctx, func(event runtime.Event) {
			a := f.ofEvent(event)
			if len(f.omits(Events, func(r Rule) bool { return r.matches(a) })) == 0 {
				sink(event)
			}
		})
	})
}

// ofEvent is whom an event is about.
func (f *Faults) ofEvent(e runtime.Event) about {
	f.mu.Lock()
	defer f.mu.Unlock()
	return about{e.UID, f.mu.names[e.UID], f.mu.known[e.ContainerID].container}
}

func (x execs) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return call(ctx, x.b, Exec, x.b.byID(ctx, req.ContainerID), func() (runtime.ExecResult, error) {
		return x.b.inner.(runtime.Execer).Exec(ctx, req)
	})
}

func (l logs) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	return act(ctx, l.b, ReadLog, l.b.byID(ctx, req.ContainerID), func() error {
		return l.b.inner.(runtime.LogReader).ReadLog(ctx, req, w)
	})
}

func (s stats) PodStats(ctx context.Context, uid types.UID) ([]runtime.ContainerStats, error) {
	return call(ctx, s.b, PodStats, s.b.f.ofPod(uid), func() ([]runtime.ContainerStats, error) {
		return s.b.inner.(runtime.StatsReader).PodStats(ctx, uid)
	})
}

func (u updates) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	return act(ctx, u.b, UpdateContainer, u.b.byID(ctx, req.ContainerID), func() error {
		return u.b.inner.(runtime.Updater).UpdateContainer(ctx, req)
	})
}

// Answer passes the question on. A lie asks too, and says the opposite.
func (a answers) Answer(ctx context.Context, req runtime.AnswerRequest) (runtime.AnswerResult, error) {
	ask := func() (runtime.AnswerResult, error) { return a.b.inner.(runtime.Answerer).Answer(ctx, req) }
	return callOrLie(ctx, a.b, Answer, a.b.byID(ctx, req.ContainerID), ask, func() (runtime.AnswerResult, error) {
		res, err := ask()
		res.OK = err == nil && !res.OK
		return res, err
	})
}

// The powers as bits.
const (
	canEvents = 1 << iota
	canExec
	canLog
	canStats
	canUpdate
	canAnswer
)

func powersOf(rt runtime.Runtime) (p int) {
	if _, ok := rt.(runtime.EventSource); ok {
		p |= canEvents
	}
	if _, ok := rt.(runtime.Execer); ok {
		p |= canExec
	}
	if _, ok := rt.(runtime.LogReader); ok {
		p |= canLog
	}
	if _, ok := rt.(runtime.StatsReader); ok {
		p |= canStats
	}
	if _, ok := rt.(runtime.Updater); ok {
		p |= canUpdate
	}
	if _, ok := rt.(runtime.Answerer); ok {
		p |= canAnswer
	}
	return p
}
