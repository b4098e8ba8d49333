package lifecycle_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// fuzzInputs are the inputs of the walk, for more pods and with more variants.
var fuzzInputs = func() []command {
	var list []command
	for _, pod := range []string{
		"a static=web source=file", "b static=web source=file", "c static=web source=http", "d source=api", "e source=api",
	} {
		for _, s := range []string{
			"create P grace=30", "create P grace=30 status-func", "update P grace=20", "update P", "sync P grace=30",
			"create P terminal stopped", "create P terminal", "create P deleted deletion=4",
			"update P deleted deletion=9", "update P deleted deletion=0", "update P terminal",
			"kill P grace=30", "kill P grace=30 status-func override=5", "kill P evict override=0", "kill P evict override=60",
		} {
			list = append(list, parseCommand(strings.ReplaceAll(s, "P", pod)))
		}
		for _, s := range []string{
			"orphan P override=1", "orphan P", "orphan P asof=mark", "orphan P asof=0", "orphan P type=sync",
			"start P", "start P", "start P", "done P succeeded", "done P succeeded", "done P completed", "done P failed",
			"done P failed-transient", "done P failed-retry-at", "done P failed-finally", "done P failed-runtime-unavailable", "silent P", "answered P", "show P", "show P deleted", "changed P", "done P cancelled", "done P succeeded late", "due P", "due P",
		} {
			list = append(list, parseCommand(strings.ReplaceAll(s, "P", pod[:1])))
		}
	}
	for _, s := range []string{
		"mark", "known", "known a c e", "known b d asof=mark", "known a b c d e", "known exclude=file", "known d exclude=http partial", "known asof=mark",
	} {
		list = append(list, parseCommand(s))
	}
	return list
}()

// FuzzHistory runs any history, one byte per step, and checks all invariants after each step. At
// the end every pod is finished and forgotten.
func FuzzHistory(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		history := make([]byte, 20+random.IntN(180))
		for i := range history {
			history[i] = byte(random.Uint32())
		}
		f.Add(history)
	}
	f.Fuzz(func(t *testing.T, history []byte) {
		w := newHarness()
		w.mute = true
		for i, b := range history {
			if _, err := w.runCommand(fuzzInputs[int(b)%len(fuzzInputs)]); err != nil {
				t.Fatalf("%v\n%s", err, formatHistory(history[:i+1]))
			}
		}
		for _, c := range []command{drain, nothing, drain, nothing} {
			if _, err := w.runCommand(c); err != nil {
				t.Fatalf("%v\n%s\nand rest", err, formatHistory(history))
			}
		}
		if n := w.t.Len(); n != 0 {
			t.Fatalf("I22: %d pods are left\n%s\nand rest", n, formatHistory(history))
		}
		if _, err := w.runLine("shutdown"); err != nil || len(w.out) > 0 {
			t.Fatalf("I44: at rest, but shutdown answers %v, %v", w.out, err)
		}
	})
}

// formatHistory returns a history as a story.
func formatHistory(history []byte) string {
	var lines []string
	for _, b := range history {
		c := fuzzInputs[int(b)%len(fuzzInputs)]
		line := c.verb + " " + strings.Join(c.words, " ")
		for _, k := range []string{"static", "source", "grace", "deletion", "override", "asof", "exclude", "type"} {
			if v, ok := c.args[k]; ok {
				line += " " + k + "=" + v
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
