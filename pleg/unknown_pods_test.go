package pleg_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// countInspections returns how often pods with a prefix were inspected.
func (w *harness) countInspections(prefix string) int {
	n := 0
	w.withLock(func() {
		for call, count := range w.mu.calls {
			if strings.HasPrefix(call, "inspect "+prefix) {
				n += count
			}
		}
	})
	return n
}

// A stream that delivers one event each time it is opened, and breaks, is opened again with the
// pauses of any other failure (F65).
func TestRun_F65_StreamThatBreaksAfterEachEvent(t *testing.T) {
	b, s := newStreamingSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.startPLEG()
	for at := 0.0; at < 60; at += 0.05 {
		b.runUntilSecond(at)
		s.sink(runtime.Event{UID: "a"})
		s.ended.Signal()
	}
	assert.InDelta(t, 6+50/5, s.count, 3, "100 ms, doubling to 5 s")
}

// Events for any number of nonexistent pods, new ones or always the same, cost a few calls (F65).
func TestRun_F65_FloodOfUnknownPods(t *testing.T) {
	for name, uid := range map[string]func(i int) types.UID{
		"ever new ones": func(i int) types.UID { return types.UID(fmt.Sprint("stranger-", i)) },
		"one":           func(int) types.UID { return "stranger" },
		"ten in turn":   func(i int) types.UID { return types.UID(fmt.Sprint("stranger-", i%10)) },
	} {
		b, s := newStreamingSimulation(t, 1)
		b.harness.setContainer("a", "c", runtime.StateRunning)
		b.startPLEG()
		b.runUntilSecond(20)
		lists := b.harness.countCalls("list")
		for i := range 60_000 {
			b.RunUntil(start.Add(20*time.Second + time.Duration(i)*time.Millisecond))
			s.sink(runtime.Event{UID: uid(i)})
		}
		assert.LessOrEqual(t, b.harness.countInspections("stranger"), 7+50/5, name)
		assert.GreaterOrEqual(t, b.harness.countInspections("stranger"), 50/5, "%s: they are not ignored", name)
		assert.LessOrEqual(t, b.harness.countCalls("list")-lists, 2+7+50/5, name)

		// A known pod is always inspected at once, and the next listing finds a pod that does
		// exist.
		b.harness.takeTranscript()
		b.harness.setContainer("a", "c", runtime.StateExited)
		s.sink(runtime.Event{UID: "a"})
		b.harness.setContainer("new", "n", runtime.StateRunning)
		s.sink(runtime.Event{UID: "new"})
		b.runUntilSecond(80)
		assert.Contains(t, b.harness.takeTranscript(), "79.999 tell a ContainerDied", name)
		b.runUntilSecond(85)
		status, _ := b.pleg.Get("new")
		assert.Equal(t, "[n running]", formatStatus(status), name)
	}
}

// Ten thousand unknown pods at the same time are ten inspections and a listing.
func TestRun_F65_ManyUnknownPodsAtOnce(t *testing.T) {
	b, s := newStreamingSimulation(t, 1)
	b.startPLEG()
	b.runUntilSecond(20)
	b.harness.takeTranscript()
	for i := range 10_000 {
		s.sink(runtime.Event{UID: types.UID(fmt.Sprint("stranger-", i))})
	}
	b.runUntilSecond(21)
	assert.Equal(t, 10, b.harness.countInspections("stranger"))
	assert.Contains(t, b.harness.takeTranscript(), "21.000 list")
}

// The PLEG inspects the first pod that an event names at once, and the next one too: a pod that exists causes no pause.
func TestRun_UnknownPodsThatExistAreInspectedAtOnce(t *testing.T) {
	b, s := newStreamingSimulation(t, 1)
	b.startPLEG()
	b.runUntilSecond(20)
	for i := range 30 {
		uid := types.UID(fmt.Sprint("new-", i))
		b.harness.setContainer(uid, "c", runtime.StateRunning)
		s.sink(runtime.Event{UID: uid})
		b.runUntilSecond(20 + float64(i)/100)
		status, _ := b.pleg.Get(uid)
		assert.Equal(t, "[c running]", formatStatus(status))
	}
	// Strangers that do not exist, with long breaks: after a break the next one is inspected at
	// once again.
	for i := range 5 {
		at := 30 + 20*float64(i)
		b.runUntilSecond(at)
		s.sink(runtime.Event{UID: types.UID(fmt.Sprint("stranger-", i))})
		b.runUntilSecond(at + 0.05)
		assert.Equal(t, i+1, b.harness.countInspections("stranger"))
	}
}

// Strangers whose inspection fails are retried like other pods, a few at a time; the listing shows
// the others.
func TestRun_F65_UnknownPodsThatCannotBeInspected(t *testing.T) {
	b, s := newStreamingSimulation(t, 1)
	for i := range 60_000 {
		b.harness.mu.fail[types.UID(fmt.Sprint("stranger-", i))] = errors.New("boom")
	}
	b.startPLEG()
	b.runUntilSecond(20)
	lists := b.harness.countCalls("list")
	for i := range 60_000 {
		b.RunUntil(start.Add(20*time.Second + time.Duration(i)*time.Millisecond))
		s.sink(runtime.Event{UID: types.UID(fmt.Sprint("stranger-", i))})
	}
	assert.LessOrEqual(t, b.harness.countInspections("stranger"), 2*10*61)
	assert.LessOrEqual(t, b.harness.countCalls("list")-lists, 61)
	b.harness.withLock(func() { clear(b.harness.mu.fail) })
	b.runUntilSecond(82)
	tried := b.harness.countInspections("stranger")
	b.runUntilSecond(120)
	assert.Equal(t, tried, b.harness.countInspections("stranger"), "they are forgotten")
}
