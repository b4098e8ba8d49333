package refresh_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/refresh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestStories runs the stories in testdata. Each line is a call and its pod. "after D" advances the
// clock, and then the due refreshes start.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var table refresh.Table
			start := time.Unix(0, 0)
			now := start
			var out strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				words := strings.Fields(line)
				verb, uid := words[0], types.UID(words[1])
				said := ""
				switch verb {
				case "after":
					passed, err := time.ParseDuration(words[1])
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					now = now.Add(passed)
					said = fmt.Sprint("refresh ", table.StartDue(now))
				case "set-up":
					said = fmt.Sprint("cancel ", table.SetUpBegan(uid, now))
				case "is-up", "fails":
					table.SetUpEnded(uid, verb == "is-up")
				case "tear-down":
					said = fmt.Sprint("cancel ", table.TearDownBegan(uid))
				case "torn-down":
					table.Remove(uid)
				case "changed":
					table.VolumesChanged(uid, now)
				case "refreshed", "not-refreshed":
					table.RefreshEnded(uid, verb == "refreshed", now)
				default:
					d.Fatalf(t, "unknown call %q", verb)
				}
				next := "never"
				if at := table.NextDue(); !at.IsZero() {
					next = at.Sub(start).String()
				}
				fmt.Fprintf(&out, "%s: %s\n", strings.Join(append([]string{line}, strings.Fields(said)...), " "), next)
			}
			return out.String()
		})
	})
}

// TestMaxRefreshes: those beyond the bound follow as others end, or go.
func TestMaxRefreshes(t *testing.T) {
	var table refresh.Table
	now := time.Unix(0, 0)
	uid := func(i int) types.UID { return types.UID(fmt.Sprintf("%02d", i)) }
	for i := range refresh.MaxRefreshes + 3 {
		table.SetUpBegan(uid(i), now)
		assert.False(t, table.SetUpEnded(uid(i), true))
		assert.True(t, table.VolumesChanged(uid(i), now))
		assert.False(t, table.VolumesChanged(uid(i), now), "it is due by then already")
	}
	now = table.NextDue()
	assert.Equal(t, time.Unix(1, 0), now)
	assert.Len(t, table.StartDue(now), refresh.MaxRefreshes)
	assert.Zero(t, table.NextDue())
	assert.Empty(t, table.StartDue(now))
	table.RefreshEnded(uid(0), true, now)
	table.TearDownBegan(uid(1))
	table.Remove(uid(1))
	assert.Equal(t, now, table.NextDue())
	assert.Equal(t, []types.UID{uid(16), uid(17)}, table.StartDue(now))
	for i := range refresh.MaxRefreshes + 2 {
		table.RefreshEnded(uid(i), true, now)
	}
	assert.Equal(t, []types.UID{uid(18)}, table.StartDue(now))
	table.RefreshEnded(uid(18), true, now)
	assert.Zero(t, table.NextDue())
}
