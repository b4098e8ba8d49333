package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// TestMoves_I3_NeverBack: no transition moves a stage back, and a repeated transition has no
// effect.
func TestMoves_I3_NeverBack(t *testing.T) {
	for e := range lifecycle.Events {
		for from := range lifecycle.Stages {
			to := lifecycle.Move(e, from)
			assert.GreaterOrEqual(t, to, from, "event %d", e)
			assert.Equal(t, to, lifecycle.Move(e, to), "event %d from %d", e, from)
		}
	}
}

// states brings a table into each state that a row of core 2.23 starts from. The pod is "a". A
// static pod "a" shares the name "web" with "z", which holds it.
var states = map[string][]string{
	"unknown":                    nil,
	"syncing":                    {"create a", "start a"},
	"waiting static":             {"create z static=web", "start z", "create a static=web"},
	"terminating":                {"create a grace=30", "start a", "kill a grace=30", "done a cancelled", "start a"},
	"terminating (runtime-only)": {"orphan a override=1", "start a"},
	"terminated":                 {"create a", "kill a", "start a", "done a succeeded", "start a"},
	"finished":                   {"create a", "kill a", "start a", "done a succeeded", "start a", "done a succeeded"},
}

// row is one line of core 2.23, with the changes that doc.go lists. After the input the running
// work, if any, is finished, to see which call follows.
type row struct {
	from, input, to string
	cancel          bool
	call            string // the next call to the syncer, "" for none
}

var rows = []row{
	{"unknown", "create a", "sync", false, "SyncPod"},
	{"unknown", "update a", "sync", false, "SyncPod"},
	{"unknown", "sync a", "sync", false, "SyncPod"},
	{"unknown", "create a terminal stopped", "terminated", false, "SyncTerminatedPod"},
	{"unknown", "create a terminal", "terminating", false, "SyncTerminatingPod"},
	{"unknown", "create a deleted", "terminating", false, "SyncTerminatingPod"},
	{"unknown", "kill a", "terminating", false, "SyncTerminatingPod"},
	{"unknown", "orphan a", "terminating", false, "SyncTerminatingRuntimePod"},
	{"unknown", "orphan a type=sync", "unknown", false, ""},
	{"syncing", "update a", "sync", false, "SyncPod"},
	{"syncing", "sync a", "sync", false, "SyncPod"},
	{"syncing", "create a", "sync", false, "SyncPod"},
	{"syncing", "done a completed", "terminating", false, "SyncTerminatingPod"},
	{"syncing", "update a deleted", "terminating", true, "SyncTerminatingPod"},
	{"syncing", "update a terminal", "terminating", true, "SyncTerminatingPod"},
	{"syncing", "kill a", "terminating", true, "SyncTerminatingPod"},
	{"syncing", "kill a evict", "terminating", true, "SyncTerminatingPod"},
	{"syncing", "known", "terminating", true, "SyncTerminatingPod"}, // cancels: B-112 fixed
	{"syncing", "orphan a", "terminating", true, "SyncTerminatingPod"},
	{"waiting static", "kill a", "finished", false, ""},
	{"waiting static", "update a deleted", "finished", false, ""},
	{"waiting static", "update a terminal", "finished", false, ""},
	{"waiting static", "known z", "unknown", false, ""},
	{"waiting static", "update a", "sync", false, ""},
	{"terminating", "kill a override=5", "terminating", true, "SyncTerminatingPod"},
	{"terminating", "kill a override=60", "terminating", false, "SyncTerminatingPod"},
	{"terminating", "update a deleted deletion=5", "terminating", true, "SyncTerminatingPod"},
	{"terminating", "create a", "terminating restart", false, "SyncTerminatingPod"},
	{"terminating", "done a succeeded", "terminated", false, "SyncTerminatedPod"},
	{"terminating (runtime-only)", "done a succeeded", "unknown", false, ""},
	{"terminated", "done a succeeded", "finished", false, ""},
	{"terminated", "create a", "terminated restart", false, "SyncTerminatedPod"},
	{"finished", "sync a", "finished", false, ""},
	{"finished", "update a", "finished", false, ""},
	{"finished", "kill a", "finished", false, ""},
	{"finished", "orphan a", "finished", false, ""},
	{"finished", "create a", "sync", false, "SyncPod"}, // at once: B-027 better
	{"finished", "known a", "finished", false, ""},
	{"finished", "known", "unknown", false, ""},
}

// TestTable_2_23 checks every row of the kubelet's state machine.
func TestTable_2_23(t *testing.T) {
	for _, r := range rows {
		t.Run(r.from+"/"+r.input, func(t *testing.T) {
			w := newHarness()
			for _, line := range append(append([]string{}, states[r.from]...), r.input) {
				_, err := w.runLine(line)
				require.NoError(t, err, line)
			}
			cancelled := false
			for _, e := range w.out {
				cancelled = cancelled || e.Op == lifecycle.OpCancel && e.UID == "a"
			}
			assert.Equal(t, r.cancel, cancelled, "cancel")
			v := w.t.View("a")
			to := "unknown"
			if v.Known {
				to = v.Phase().String()
			}
			if v.RestartRequested {
				to += " restart"
			}
			assert.Equal(t, r.to, to)
			assert.Equal(t, r.call, w.nextCall(t), "next call")
		})
	}
}

// nextCall returns the next call of the syncer for pod a.
func (w *harness) nextCall(t *testing.T) string {
	if w.h.tracePod("a").work.UID != "" {
		result := "failed"
		if w.h.tracePod("a").work.Kind == lifecycle.SyncPod {
			result = "cancelled"
		}
		_, err := w.runLine("done a " + result)
		require.NoError(t, err)
		_, err = w.runLine("due a")
		require.NoError(t, err)
	}
	ref, _ := w.t.Find("a")
	work, ok := w.t.StartPodSync(ref)
	if !ok {
		return ""
	}
	return work.Kind.String()
}

// truth is core 1.2: the results of each query method for the pod after the commands. T and F are
// in the order of predicates, without the mirror's.
var truth = []struct {
	name     string
	commands []string
	answers  string
}{
	{"unknown before", nil, "FTFFFFF"},
	{"unknown after", []string{"known"}, "FFTFTTT"},
	{"unknown after partial", []string{"known partial"}, "FTFFFFF"},
	{"accepted", []string{"known", "create a"}, "FTFFFFF"},
	{"syncing", []string{"create a", "start a"}, "FTFFFFF"},
	{"kill requested", []string{"create a", "start a", "kill a"}, "FTFTFFF"},
	{"eviction requested", []string{"create a", "start a", "kill a evict"}, "FTFTFFT"},
	{"deletion requested", []string{"create a", "start a", "update a deleted"}, "FTFTFFF"},
	{"terminating", []string{"create a", "kill a", "start a"}, "FTFTTFF"},
	{"at its own end", []string{"create a", "start a", "done a completed"}, "FTFTTFF"},
	{"terminated, killed", []string{"create a", "kill a", "start a", "done a succeeded"}, "TFFTTTF"},
	{"terminated, deleted", []string{"create a deleted", "start a", "done a succeeded"}, "TFFTTTT"},
	{"terminated, evicted", []string{"kill a evict", "start a", "done a succeeded"}, "TFFTTTT"},
	{"terminal at first sight", []string{"create a terminal stopped"}, "TFFTTTF"},
	{"finished", []string{"create a terminal stopped", "start a", "done a succeeded"}, "TFTTTTF"},
	{"finished, deleted", []string{"create a terminal stopped deleted", "start a", "done a succeeded"}, "TFTTTTT"},
	{"runtime only", []string{"orphan a"}, "FTFTFFF"},
	{"runtime only, working", []string{"orphan a", "start a"}, "FTFTTFF"},
	{"runtime only, gone", []string{"orphan a", "start a", "done a succeeded"}, "FTFFFFF"},
}

// TestView_1_2 checks the truth table of the query methods.
func TestView_1_2(t *testing.T) {
	for _, c := range truth {
		t.Run(c.name, func(t *testing.T) {
			w := newHarness()
			for _, line := range c.commands {
				_, err := w.runLine(line)
				require.NoError(t, err, line)
			}
			got := ""
			for _, p := range predicates[:len(c.answers)] {
				if p.ask(w.t.View("a")) {
					got += "T"
				} else {
					got += "F"
				}
			}
			assert.Equal(t, c.answers, got)
		})
	}
}
