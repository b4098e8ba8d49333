package runtimetest

import (
	"context"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

var optionalCases = []Case{
	{"features/roles", "Features returns each optional role whose methods the runtime has", featuresRoles},
	{"events/changes", "an EventSource tells of starts, ends and removals", eventsChanges},
	{"events/context", "Events returns with an error when its context ends", eventsContext},
	{"report/ready", "a StatusReporter that works says so", reportReady},
	{"report/version", "a Versioner names itself", reportVersion},
}

// featuresRoles finds a role that the author of the runtime has written and not reported: no
// caller would use it.
func featuresRoles(b *bench) {
	rt, features := reflect.TypeOf(b.rt.inner), reflect.ValueOf(b.features())
	for i := range features.NumField() {
		role := features.Type().Field(i)
		if role.Type.Kind() == reflect.Interface && rt.Implements(role.Type) {
			b.Check(!features.Field(i).IsNil(), "the runtime is a %s, and its Features have none", role.Name)
		}
	}
}

// watching is an open event stream.
type watching struct {
	ended executor.Latch
	err   error // once ended

	mu   sync.Mutex
	seen map[types.UID]int
}

func (w *watching) sink(e runtime.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[e.UID]++
}

func (w *watching) count(uid types.UID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[uid]
}

// watch opens an event stream, or skips the case if there is none to open.
func (b *bench) watch(ctx context.Context) (*watching, bool) {
	source, ok := feature(b, b.features().EventSource, "EventSource")
	if !ok {
		return nil, false
	}
	w := &watching{ended: b.executor.NewLatch(), seen: map[types.UID]int{}}
	b.others.Go(func() {
		w.err = source.Events(ctx, w.sink)
		w.ended.Open()
	})
	b.sleep(500 * time.Millisecond)
	return w, true
}

// opened waits until the stream tells of something: a stream may take its time
// to open, and what happened before is lost to it. Sandboxes are made until one
// of them is told of.
func (b *bench) opened(w *watching) {
	b.Helper()
	ref, attempt := b.pod(), uint32(0)
	b.until("an event tells of a new sandbox", func() bool {
		if w.count(ref.UID) > 0 {
			return true
		}
		id := b.sandbox(ref, attempt)
		attempt++
		b.sleep(time.Second)
		b.Must(b.removeSandbox(id), "RemoveSandbox")
		return w.count(ref.UID) > 0
	})
}

func eventsChanges(b *bench) {
	w, ok := b.watch(b.ctx)
	if !ok {
		return
	}
	b.opened(w)
	ref := b.pod()
	before := 0
	told := func(what string) {
		b.Helper()
		b.until("an event tells of "+what, func() bool { return w.count(ref.UID) > before })
		b.sleep(500 * time.Millisecond) // those that come late are of the same change
		before = w.count(ref.UID)
	}
	sandbox := b.sandbox(ref, 0)
	told("a new sandbox")
	id := b.create(ref, sandbox, "main", 0, b.h.Exit(3*time.Second, 0))
	told("a new container")
	b.start(id)
	told("a start")
	b.exited(ref, id)
	told("an end")
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox")
	told("a removal")
}

func eventsContext(b *bench) {
	ctx, cancel := executor.WithCancel(b.ctx)
	defer cancel()
	w, ok := b.watch(ctx)
	if !ok {
		return
	}
	b.Check(!w.ended.Opened(), "Events returned at once: %v", w.err)
	cancel()
	b.until("Events returns", w.ended.Opened)
	b.Check(w.err != nil, "Events returned without saying why")
}

func reportReady(b *bench) {
	reporter, ok := feature(b, b.features().StatusReporter, "StatusReporter")
	if !ok {
		return
	}
	st, err := reporter.RuntimeStatus(b.ctx)
	b.Must(err, "RuntimeStatus")
	b.Check(st.RuntimeReady && st.NetworkReady, "it says %+v", st)
}

func reportVersion(b *bench) {
	versioner, ok := feature(b, b.features().Versioner, "Versioner")
	if !ok {
		return
	}
	name, version, err := versioner.Version(b.ctx)
	b.Must(err, "Version")
	b.Check(name != "" && version != "", "it calls itself %q %q", name, version)
}
