package lifecycle_test

import (
	"flag"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/podkeel/podkeel/internal/longtest"
)

var walkDepth = flag.Int("lifecycle.depth", 0, "steps of the exhaustive walk; 0: as many as PODKEEL_LONG says")

// walkInputs returns all inputs for a table of two static pods that share one full name.
func walkInputs() []string {
	var list []string
	for _, uid := range []string{"a", "b"} {
		for _, s := range []string{
			"create P static=web source=file grace=30", "update P static=web source=file grace=30", "create P static=web source=file terminal stopped",
			"update P static=web source=file deleted deletion=9", "update P static=web source=file terminal",
			"kill P static=web source=file grace=30 status-func", "kill P static=web source=file grace=30 evict override=1",
			"orphan P override=1", "orphan P override=1 asof=mark",
			"start P", "done P succeeded", "done P completed", "done P failed", "done P failed-runtime-unavailable", "done P cancelled late", "due P", "silent P", "answered P", "show P", "changed P",
		} {
			list = append(list, strings.ReplaceAll(s, "P", uid))
		}
	}
	return append(list, "mark", "known", "known a", "known b", "known a asof=mark", "known b asof=mark", "known exclude=file partial", "shutdown")
}

// TestWalk gives every input, in every order, up to the given depth. If several histories lead to
// one state, only one is continued. All invariants are checked after every step. From each new
// state the table is also run until it is idle, and until all pods are gone with nothing desired.
func TestWalk(t *testing.T) {
	depth := *walkDepth
	switch {
	case depth != 0:
	case testing.Short():
		depth = 4
	case raced:
		depth = 5
	default:
		depth = longtest.Count(5, 6)
	}
	var all []command
	for _, line := range walkInputs() {
		all = append(all, parseCommand(line))
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	seen := map[string]struct{}{}
	level, steps := [][]uint8{nil}, 0
	w := newHarness()
	var print []byte
	for d := 1; d <= depth; d++ {
		var next [][]uint8
		for _, path := range level {
			for i, c := range all {
				if len(path) == 0 && len(c.words) > 0 && c.words[0] == "b" {
					continue // the mirror image of a history that begins with a
				}
				path := append(path[:len(path):len(path)], uint8(i))
				replayPath(w, all, path[:len(path)-1])
				runStep(t, w, path, c)
				steps++
				print = w.h.appendFingerprint(w.t.Fingerprint(print[:0], w.mark))
				if _, old := seen[string(print)]; old {
					continue
				}
				seen[string(print)] = struct{}{}
				next = append(next, path)
				runUntilIdle(t, w, path)
			}
		}
		level = next
		t.Logf("depth %d: %d new states, %d in all, %d steps", d, len(next), len(seen), steps)
	}
}

// replayPath repeats a known path. Its steps were checked before.
func replayPath(w *harness, all []command, path []uint8) {
	w.resetHistory()
	w.quick, w.mute = true, true
	for _, i := range path {
		_, _ = w.runCommand(all[i])
	}
	w.quick = false
}

func runStep(t *testing.T, w *harness, path []uint8, c command) {
	if _, err := w.runCommand(c); err != nil {
		t.Fatalf("%v\n%s", err, formatPath(path))
	}
}

var (
	drain   = command{verb: "drain"}
	nothing = command{verb: "known"}
)

// runUntilIdle runs the table until it is idle, first as it is and then with nothing desired.
func runUntilIdle(t *testing.T, w *harness, path []uint8) {
	if w.h.down {
		return
	}
	for _, c := range []command{drain, nothing, drain, nothing} {
		if _, err := w.runCommand(c); err != nil {
			t.Fatalf("%v\n%s\nand rest", err, formatPath(path))
		}
	}
	if n := w.t.Len(); n != 0 {
		t.Fatalf("I22: %d pods are left\n%s\nand rest", n, formatPath(path))
	}
}

// formatPath returns a path as a story.
func formatPath(path []uint8) string {
	var lines []string
	for _, i := range path {
		lines = append(lines, walkInputs()[i])
	}
	return strings.Join(lines, "\n")
}

// appendFingerprint appends the state on which the history's checks of later steps depend.
func (h *history) appendFingerprint(b []byte) []byte {
	for _, uid := range h.order {
		p := h.pods[uid]
		b = append(b, uid...)
		b = append(b, byte(p.grace), byte(p.work.Kind))
		for _, on := range []bool{p.known, p.woken, p.queued, p.taken, p.stopped, p.config, p.synced != p.content, p.old.UID != ""} {
			if on {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		}
	}
	return b
}
