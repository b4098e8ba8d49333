package pleg_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
)

// history is a random sequence of changes, faults and reads in a simulation.
type history struct {
	rt      *rapid.T
	b       *simulation
	stream  *streamer
	lies    bool // listings may lack containers
	next    int
	gone    map[types.UID]int32 // the last version in which a pod was empty
	latest  map[types.UID]int32 // the newest version that Get has shown
	replica map[types.UID]string
	sub     pleg.Subscription
}

var uids = []types.UID{"a", "b", "c", "d"}

// TestProperty_I24_I25_I40: for any sequence of changes, faults and runtime events, no result is older than
// the state at the reader's mark, the cache never goes backwards, and every reader gets a result.
// Once the faults are over, a subscriber that only reads announced pods knows the present state.
func TestProperty_I24_I25_I40(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{
			rt: rt, gone: map[types.UID]int32{}, latest: map[types.UID]int32{}, replica: map[types.UID]string{},
			lies: rapid.Bool().Draw(rt, "lies"),
		}
		streams := rapid.Bool().Draw(rt, "streams")
		h.b = newSimulation(t, rapid.Uint64().Draw(rt, "seed"), func(clk clock.Clock) (pleg.Config, *harness) {
			h.stream = newStreamer(clk)
			cfg := pleg.Config{Runtime: h.stream.harness, MaxInspections: rapid.IntRange(1, 3).Draw(rt, "slots")}
			if streams {
				cfg.Runtime = h.stream
			}
			return cfg, h.stream.harness
		})
		h.sub = h.b.pleg.Subscribe(h.readChanges)
		h.b.startPLEG()
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			h.takeStep()
		}
		h.checkSettled()
		h.b.ctx.Cancel(context.Canceled)
		h.b.RunUntilIdle()
	})
}

// readChanges reads the announced pods, as a subscriber does.
func (h *history) readChanges() {
	for _, c := range h.sub.TakeAll(nil) {
		status, _ := h.b.pleg.Get(c.UID)
		h.replica[c.UID] = formatStatus(status)
	}
}

func (h *history) takeStep() {
	w := h.b.harness
	uid := rapid.SampledFrom(uids).Draw(h.rt, "uid")
	switch rapid.SampledFrom([]string{"change", "change", "change", "wait", "wait", "read", "read", "poke", "fault", "lie", "slow", "end"}).Draw(h.rt, "op") {
	case "change":
		h.changeContainer(uid)
	case "wait":
		h.b.RunUntil(h.b.Now().Add(time.Duration(rapid.IntRange(0, 3000).Draw(h.rt, "ms")) * time.Millisecond))
	case "read":
		h.startReader(uid)
	case "poke": // A runtime event, correct or not.
		if h.stream.sink != nil {
			h.stream.sink(runtime.Event{UID: uid})
		}
	case "fault":
		w.mu.hang[uid] = rapid.Bool().Draw(h.rt, "hang")
		w.mu.fail[uid] = nil
		if rapid.Bool().Draw(h.rt, "fail") {
			w.mu.fail[uid] = runtime.ErrNotReady
		}
		w.mu.listErr = nil
		if rapid.Bool().Draw(h.rt, "listErr") {
			w.mu.listErr = runtime.ErrNotReady
		}
	case "lie":
		if p := w.mu.pods[uid]; h.lies && p != nil && len(p.containers) > 0 {
			id := p.containers[0].ID
			w.mu.omit[id] = !w.mu.omit[id]
		}
	case "slow":
		w.mu.listTakes = time.Duration(rapid.IntRange(0, 2000).Draw(h.rt, "list ms")) * time.Millisecond
		w.mu.statusTakes = time.Duration(rapid.IntRange(0, 2000).Draw(h.rt, "status ms")) * time.Millisecond
	case "end":
		h.stream.ended.Signal()
	}
	h.checkMonotone()
}

// changeContainer moves one container of a pod to its next state, or creates one.
func (h *history) changeContainer(uid types.UID) {
	w := h.b.harness
	if p := w.mu.pods[uid]; p != nil && len(p.containers) > 0 && rapid.Bool().Draw(h.rt, "old") {
		c := rapid.SampledFrom(p.containers).Draw(h.rt, "container")
		next := map[runtime.State]runtime.State{
			runtime.StateCreated: runtime.StateRunning,
			runtime.StateRunning: runtime.StateExited,
		}[c.State] // An exited container is removed.
		w.setContainer(uid, c.ID, next)
	} else {
		h.next++
		w.setContainer(uid, fmt.Sprint("c", h.next), rapid.SampledFrom([]runtime.State{runtime.StateCreated, runtime.StateRunning}).Draw(h.rt, "state"))
	}
	if p := w.mu.pods[uid]; len(p.containers) == 0 {
		h.gone[uid] = p.version
	}
}

// startReader starts a reader that checks the age of its result.
func (h *history) startReader(uid types.UID) {
	var was int32
	if p := h.b.harness.mu.pods[uid]; p != nil {
		was = p.version
	}
	if h.lies {
		h.b.pleg.RequestRelist(uid) // From now on a listing does not satisfy the reader.
	}
	mark := h.b.pleg.Mark()
	h.b.process.Go(func() {
		status, err := h.b.pleg.NewerThan(h.b.ctx, uid, mark)
		if err == nil {
			h.notOlder(uid, statusVersion(status), was, "answer")
		}
		h.b.harness.recordCall("answered")
	})
	h.b.harness.recordCall("asked")
}

// notOlder fails if the version in a status is older than a version. An empty status counts as new
// as the last moment at which the pod was empty.
func (h *history) notOlder(uid types.UID, got, than int32, what string) int32 {
	if got == 0 {
		got = h.gone[uid]
	}
	if got < than {
		h.rt.Errorf("%s about %s shows version %d, and %d was known", what, uid, got, than)
	}
	return got
}

// checkMonotone checks that the cache has not gone backwards.
func (h *history) checkMonotone() {
	for _, uid := range uids {
		status, _ := h.b.pleg.Get(uid)
		if statusVersion(status) == 0 && h.latest[uid] == 0 {
			continue
		}
		h.latest[uid] = h.notOlder(uid, statusVersion(status), h.latest[uid], "Get")
	}
}

// checkSettled ends all faults and runtime events, waits, and compares the cache with the state.
func (h *history) checkSettled() {
	w := h.b.harness
	clear(w.mu.hang)
	clear(w.mu.fail)
	clear(w.mu.omit)
	w.mu.listErr, w.mu.listTakes, w.mu.statusTakes = nil, 0, 0
	h.b.RunUntil(h.b.Now().Add(2 * time.Minute))
	for _, uid := range uids {
		want := "[]"
		if p := w.mu.pods[uid]; p != nil {
			status, _ := w.PodStatus(h.b.ctx, uid)
			want = formatStatus(status)
		}
		got, err := h.b.pleg.Get(uid)
		if err != nil || formatStatus(got) != want {
			h.rt.Errorf("%s is %s and is shown as %s, error %v", uid, want, formatStatus(got), err)
		}
		if told, ok := h.replica[uid]; ok && told != want || !ok && want != "[]" {
			h.rt.Errorf("%s is %s and the subscriber was told %q", uid, want, told)
		}
	}
	if asked, answered := w.countCalls("asked"), w.countCalls("answered"); asked != answered {
		h.rt.Errorf("%d readers, %d answers", asked, answered)
	}
}
