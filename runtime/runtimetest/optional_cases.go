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
	{"features/roles", "Features returns each optional role whose methods the runtime has", checkFeaturesComplete},
	{"events/changes", "an EventSource reports creations, starts, exits and removals", checkEventsForChanges},
	{"events/context", "Events returns with an error when its context ends", checkEventsStopWithContext},
	{"report/ready", "the StatusReporter of a working runtime reports it as ready", checkRuntimeStatus},
	{"report/version", "a Versioner returns a name and a version", checkVersion},
}

// checkFeaturesComplete fails the case if the runtime has the methods of an optional role, but its Features do
// not return the role. No caller would use such a role.
func checkFeaturesComplete(b *bench) {
	rt, features := reflect.TypeOf(b.rt.inner), reflect.ValueOf(b.features())
	for i := range features.NumField() {
		role := features.Type().Field(i)
		if role.Type.Kind() == reflect.Interface && rt.Implements(role.Type) {
			b.Check(!features.Field(i).IsNil(), "the runtime has the methods of the role %s, but Features returns nil for it", role.Name)
		}
	}
}

// openEventStream is an open call of Events, with the number of events per pod.
type openEventStream struct {
	returned executor.Latch
	err      error // valid after returned

	mu          sync.Mutex
	eventCounts map[types.UID]int
}

func (w *openEventStream) countEvent(e runtime.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eventCounts[e.UID]++
}

func (w *openEventStream) eventCount(uid types.UID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.eventCounts[uid]
}

// openEventsOrSkip opens an event stream in the background and waits half a second. It returns an object that
// counts the events of each pod. If the runtime is no EventSource, it skips the case and returns false.
func (b *bench) openEventsOrSkip(ctx context.Context) (stream *openEventStream, opened bool) {
	source, ok := roleOrSkip(b, b.features().EventSource, "EventSource")
	if !ok {
		return nil, false
	}
	w := &openEventStream{returned: b.executor.NewLatch(), eventCounts: map[types.UID]int{}}
	b.background.Go(func() {
		w.err = source.Events(ctx, w.countEvent)
		w.returned.Open()
	})
	b.sleep(500 * time.Millisecond)
	return w, true
}

// createSandboxesUntilEventsFlow creates and removes sandboxes until the stream delivers an event for one, because a
// stream may open late and lose earlier events. It fails the case after WaitTimeout.
func (b *bench) createSandboxesUntilEventsFlow(w *openEventStream) {
	b.Helper()
	ref, attempt := b.newPodToCleanUp(), uint32(0)
	b.waitFor("Events delivers an event for a new sandbox", func() bool {
		if w.eventCount(ref.UID) > 0 {
			return true
		}
		id := b.runSandbox(ref, attempt)
		attempt++
		b.sleep(time.Second)
		b.Must(b.removeSandbox(id), "RemoveSandbox")
		return w.eventCount(ref.UID) > 0
	})
}

func checkEventsForChanges(b *bench) {
	w, ok := b.openEventsOrSkip(b.ctx)
	if !ok {
		return
	}
	b.createSandboxesUntilEventsFlow(w)
	ref := b.newPodToCleanUp()
	before := 0
	waitForEvent := func(change string) {
		b.Helper()
		b.waitFor("Events delivers an event after "+change, func() bool { return w.eventCount(ref.UID) > before })
		b.sleep(500 * time.Millisecond) // Late events belong to the same change.
		before = w.eventCount(ref.UID)
	}
	sandbox := b.runSandbox(ref, 0)
	waitForEvent("RunSandbox")
	id := b.createContainer(ref, sandbox, "main", 0, b.h.Exit(3*time.Second, 0))
	waitForEvent("CreateContainer")
	b.startContainer(id)
	waitForEvent("StartContainer")
	b.waitForExit(ref, id)
	waitForEvent("the exit of the container")
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox")
	waitForEvent("RemoveSandbox")
}

func checkEventsStopWithContext(b *bench) {
	ctx, cancel := executor.WithCancel(b.ctx)
	defer cancel()
	w, ok := b.openEventsOrSkip(ctx)
	if !ok {
		return
	}
	b.Check(!w.returned.Opened(), "Events returned before its context ended: %v", w.err)
	cancel()
	b.waitFor("Events returns", w.returned.Opened)
	b.Check(w.err != nil, "Events returned nil, want an error")
}

func checkRuntimeStatus(b *bench) {
	reporter, ok := roleOrSkip(b, b.features().StatusReporter, "StatusReporter")
	if !ok {
		return
	}
	st, err := reporter.RuntimeStatus(b.ctx)
	b.Must(err, "RuntimeStatus")
	b.Check(st.RuntimeReady && st.NetworkReady, "a ready runtime must report RuntimeReady and NetworkReady; it reports %+v", st)
}

func checkVersion(b *bench) {
	versioner, ok := roleOrSkip(b, b.features().Versioner, "Versioner")
	if !ok {
		return
	}
	name, version, err := versioner.Version(b.ctx)
	b.Must(err, "Version")
	b.Check(name != "" && version != "", "Version must return a name and a version; they are %q and %q", name, version)
}
