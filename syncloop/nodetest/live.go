package nodetest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Live runs a story in a synctest bubble: real goroutines, and virtual time. Live stops the node
// afterwards, and the bubble fails the test if a goroutine is left.
func Live(t *testing.T, config Config, story func(Harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		w := newLive(t, config)
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.trace.followNode(ctx, w.node) })
		running.Go(func() {
			if err := w.node.Run(ctx); err != nil {
				w.trace.faults.formatAndStoreFault("the node failed: %v", err)
			}
		})
		defer func() {
			t.Helper()
			end()
			running.Wait()
			w.trace.checkAndClearShared()
			if w.machine != nil {
				w.trace.checkScriptsSelectContainers(w.machine.ScriptSelectors())
			}
			w.trace.faults.reportAndClear(t)
			if t.Failed() {
				t.Logf("The transcript:\n%s", w.Transcript())
				saveTimelinesIfFlagSet(t, w.trace.timelines)
			}
		}()
		story(w)
	})
}

// live is a Harness with goroutines.
type live struct {
	t       *testing.T
	machine *memory.Runtime
	trace   *trace
	node    *node.Node
}

func newLive(t *testing.T, config Config) *live {
	t.Helper()
	clk := clock.RealClock{}
	w := &live{t: t, trace: newTrace(clk.Now)}
	w.trace.details = config.Details
	w.trace.enableTimelinesIfRequested(config.Timelines)
	n, err := node.New(config.nodeConfig(clk, w.newRuntime(config, clk), w.trace))
	if err != nil {
		t.Fatalf("nodetest: %v", err)
	}
	w.node = n
	return w
}

// newRuntime creates the runtime of the node, and makes the trace record its calls and read pods from it.
// Without Config.Runtime it is the in-memory runtime.
func (w *live) newRuntime(config Config, clk clock.Clock) runtime.Runtime {
	if config.Runtime == nil {
		w.machine = memory.New(memory.Config{Clock: clk, Hooks: memory.Hooks{CallContext: w.trace.recordAndCheckCall}})
		w.trace.podStatus = w.machine.SnapshotStatus
		return w.machine
	}
	own := config.Runtime(clk)
	w.trace.podStatus = newPodStatusReader(w.t.Context(), own)
	return newRecordingRuntime(own, clk, w.trace, nil)
}

func (w *live) Node() *node.Node         { return w.node }
func (w *live) Machine() *memory.Runtime { return w.machine }
func (w *live) Transcript() string       { return w.trace.String() }

func (w *live) Delete(uid types.UID) {
	w.t.Helper()
	if err := w.trace.checkUIDKnown(uid); err != nil {
		w.t.Fatalf("nodetest: Delete: %v", err)
	}
	w.node.Delete(uid)
}

func (w *live) Apply(pod *v1.Pod) {
	w.t.Helper()
	pod = withUID(pod)
	if err := checkScriptAnnotations(pod); err != nil {
		w.t.Fatalf("nodetest: Apply: %v", err)
	}
	w.trace.recordDesired(pod)
	if err := w.node.Apply(pod); err != nil {
		w.t.Fatalf("nodetest: %v", err)
	}
}

// Run implements Harness. It waits until all goroutines are idle, before and after the time passes, as a
// simulation does.
func (w *live) Run(d time.Duration) {
	w.t.Helper()
	synctest.Wait()
	_ = executor.Over(nil).Sleep(w.t.Context(), d) // This is virtual time.
	synctest.Wait()
	w.trace.faults.reportAndClear(w.t)
}
