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

// Each of the following is one power of a wrapper. They are types of their own
// so that a wrapper can have just those that the runtime beneath has.
type (
	events  struct{ b *base }
	execs   struct{ b *base }
	logs    struct{ b *base }
	stats   struct{ b *base }
	updates struct{ b *base }
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

// The powers as bits.
const (
	canEvents = 1 << iota
	canExec
	canLog
	canStats
	canUpdate
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
	return p
}

// with is the wrapper with exactly the given powers. They are found by type
// assertion, so each combination needs a type of its own.
func (b *base) with(powers int) runtime.Runtime {
	e, x, l, s, u := events{b}, execs{b}, logs{b}, stats{b}, updates{b}
	switch powers {
	case canEvents:
		return struct {
			*base
			events
		}{b, e}
	case canExec:
		return struct {
			*base
			execs
		}{b, x}
	case canEvents | canExec:
		return struct {
			*base
			events
			execs
		}{b, e, x}
	case canLog:
		return struct {
			*base
			logs
		}{b, l}
	case canEvents | canLog:
		return struct {
			*base
			events
			logs
		}{b, e, l}
	case canExec | canLog:
		return struct {
			*base
			execs
			logs
		}{b, x, l}
	case canEvents | canExec | canLog:
		return struct {
			*base
			events
			execs
			logs
		}{b, e, x, l}
	case canStats:
		return struct {
			*base
			stats
		}{b, s}
	case canEvents | canStats:
		return struct {
			*base
			events
			stats
		}{b, e, s}
	case canExec | canStats:
		return struct {
			*base
			execs
			stats
		}{b, x, s}
	case canEvents | canExec | canStats:
		return struct {
			*base
			events
			execs
			stats
		}{b, e, x, s}
	case canLog | canStats:
		return struct {
			*base
			logs
			stats
		}{b, l, s}
	case canEvents | canLog | canStats:
		return struct {
			*base
			events
			logs
			stats
		}{b, e, l, s}
	case canExec | canLog | canStats:
		return struct {
			*base
			execs
			logs
			stats
		}{b, x, l, s}
	case canEvents | canExec | canLog | canStats:
		return struct {
			*base
			events
			execs
			logs
			stats
		}{b, e, x, l, s}
	case canUpdate:
		return struct {
			*base
			updates
		}{b, u}
	case canEvents | canUpdate:
		return struct {
			*base
			events
			updates
		}{b, e, u}
	case canExec | canUpdate:
		return struct {
			*base
			execs
			updates
		}{b, x, u}
	case canEvents | canExec | canUpdate:
		return struct {
			*base
			events
			execs
			updates
		}{b, e, x, u}
	case canLog | canUpdate:
		return struct {
			*base
			logs
			updates
		}{b, l, u}
	case canEvents | canLog | canUpdate:
		return struct {
			*base
			events
			logs
			updates
		}{b, e, l, u}
	case canExec | canLog | canUpdate:
		return struct {
			*base
			execs
			logs
			updates
		}{b, x, l, u}
	case canEvents | canExec | canLog | canUpdate:
		return struct {
			*base
			events
			execs
			logs
			updates
		}{b, e, x, l, u}
	case canStats | canUpdate:
		return struct {
			*base
			stats
			updates
		}{b, s, u}
	case canEvents | canStats | canUpdate:
		return struct {
			*base
			events
			stats
			updates
		}{b, e, s, u}
	case canExec | canStats | canUpdate:
		return struct {
			*base
			execs
			stats
			updates
		}{b, x, s, u}
	case canEvents | canExec | canStats | canUpdate:
		return struct {
			*base
			events
			execs
			stats
			updates
		}{b, e, x, s, u}
	case canLog | canStats | canUpdate:
		return struct {
			*base
			logs
			stats
			updates
		}{b, l, s, u}
	case canEvents | canLog | canStats | canUpdate:
		return struct {
			*base
			events
			logs
			stats
			updates
		}{b, e, l, s, u}
	case canExec | canLog | canStats | canUpdate:
		return struct {
			*base
			execs
			logs
			stats
			updates
		}{b, x, l, s, u}
	case canEvents | canExec | canLog | canStats | canUpdate:
		return struct {
			*base
			events
			execs
			logs
			stats
			updates
		}{b, e, x, l, s, u}
	}
	return b
}
