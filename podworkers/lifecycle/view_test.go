package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// predicateAnswers returns the results of the predicates for v, one letter each.
func predicateAnswers(v lifecycle.View) string {
	s := ""
	for _, p := range predicates {
		if p.ask(v) {
			s += "T"
		} else {
			s += "F"
		}
	}
	return s
}

// TestView_ByHand: a View that another PodWorkers fills in gives the same results as the table's.
func TestView_ByHand(t *testing.T) {
	thirty := lifecycle.Seconds(30)
	for _, c := range []struct {
		name     string
		commands []string
		want     lifecycle.View
		answers  string
	}{
		{"unknown before", nil, lifecycle.View{}, "FTFFFFFF"},
		{"unknown after", []string{"known"}, lifecycle.View{AllSources: true}, "FFTFTTTF"},
		{"working", []string{"create a", "start a"}, lifecycle.View{
			Known: true, Incarnation: 1, Generation: 1, Started: true, Working: true, HasConfig: true,
		}, "FTFFFFFF"},
		{"to end", []string{"create a static=web grace=30", "start a", "update a static=web grace=30 deleted"}, lifecycle.View{
			Known: true, Incarnation: 1, Generation: 2, Stage: lifecycle.StageRequested, Grace: thirty,
			Started: true, Working: true, Deleted: true, HasConfig: true, Static: true,
		}, "FTFTFFFT"},
		{"terminated", []string{"kill a evict grace=30", "start a", "done a succeeded"}, lifecycle.View{
			Known: true, Incarnation: 1, Generation: 1, Stage: lifecycle.StageTerminated, Grace: thirty,
			Started: true, Evicted: true, HasConfig: true,
		}, "TFFTTTTF"},
		{"desired again", []string{"create a grace=30", "start a", "kill a grace=30", "create a grace=30"}, lifecycle.View{
			Known: true, Incarnation: 1, Generation: 2, Stage: lifecycle.StageRequested, Grace: thirty,
			Started: true, Working: true, HasConfig: true, RestartRequested: true,
		}, "FTFTFFFF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newHarness()
			for _, line := range c.commands {
				_, err := w.runLine(line)
				require.NoError(t, err, line)
			}
			assert.Equal(t, c.want, w.t.View("a"))
			assert.Equal(t, c.answers, predicateAnswers(c.want))
		})
	}
}

// TestStage_Phase: each stage has its phase, and no value panics.
func TestStage_Phase(t *testing.T) {
	got := map[string]string{}
	for s := range lifecycle.StageFinished + 2 {
		got[s.String()] = s.Phase().String()
	}
	assert.Equal(t, map[string]string{
		"syncing": "sync", "requested": "terminating", "terminating": "terminating", "terminated": "terminated",
		"finished": "finished", "unknown": "finished",
	}, got)
	assert.Equal(t, lifecycle.Finished, lifecycle.View{Known: true, Stage: 200}.Phase())
}
