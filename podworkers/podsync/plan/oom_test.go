package plan_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// TestOOM runs testdata/oom/oom.txt. Each block is the story of one pod. The lines are:
//
//	before | after            the lines that follow are counters of the last snapshot, or of the new one
//	pod kills=1 limit=2       the counters of the pod; a missing one is unset
//	a kills=1 limit=2         the counters of the cgroup of the container a; without the line it has none
//	containers                the lines that follow are containers of the runtime
//	a running | exited [killed] [reason] [limit]
//	                          killed: by SIGKILL, not by this node; reason: OOMKilled; limit: it has its own
func TestOOM(t *testing.T) {
	datadriven.RunTest(t, "testdata/oom/oom.txt", func(t *testing.T, d *datadriven.TestData) string {
		var snapshots [2]plan.OOMSnapshot
		var containers []plan.OOMContainer
		section := ""
		for line := range strings.Lines(d.Input) {
			words := strings.Fields(line)
			switch {
			case len(words) == 1:
				section = words[0]
			case section == "containers":
				containers = append(containers, parseOOMContainer(words))
			default:
				s := &snapshots[map[string]int{"before": 0, "after": 1}[section]]
				addOOMCounters(t, s, words)
			}
		}
		var b strings.Builder
		for _, r := range plan.DecideOOM(snapshots[0], snapshots[1], containers) {
			fmt.Fprintf(&b, "%s lost %d, limit %q\n", r.Container, r.Kills, r.Limit)
		}
		return b.String()
	})
}

func parseOOMContainer(words []string) plan.OOMContainer {
	c := plan.OOMContainer{Name: words[0], ID: words[0]}
	for _, word := range words[1:] {
		c.Exited = c.Exited || word == "exited"
		c.Killed = c.Killed || word == "killed"
		c.ReportedOOM = c.ReportedOOM || word == "reason"
		c.HasLimit = c.HasLimit || word == "limit"
	}
	return c
}

func addOOMCounters(t *testing.T, s *plan.OOMSnapshot, words []string) {
	var counters plan.OOMCounters
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		require.NoError(t, err)
		switch name {
		case "kills":
			counters.Kills = podresources.Finite(n)
		case "limit":
			counters.LimitReached = podresources.Finite(n)
		}
	}
	if words[0] == "pod" {
		s.Pod = counters
		return
	}
	if s.Containers == nil {
		s.Containers = map[string]plan.OOMCounters{}
	}
	s.Containers[words[0]] = counters
}

// With the counters of cgroup v2, no container is blamed without a kill and no kill is counted twice, in any
// order of kills, exits and reads (OM-5).
func TestOOM_OM5_EachKillOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c"}
		pod, kills, killed, exited, reported := int64(0), map[string]int64{}, map[string]bool{}, map[string]bool{}, map[string]int64{}
		before := plan.OOMSnapshot{Pod: plan.OOMCounters{Kills: podresources.Finite(0), LimitReached: podresources.Finite(0)}}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "container")
			switch step := rapid.IntRange(0, 2).Draw(t, "step"); {
			case exited[name]:
				continue
			case step == 0:
				pod, kills[name] = pod+1, kills[name]+1
				continue
			case step == 1:
				exited[name], killed[name] = true, kills[name] > reported[name]
			}
			after := plan.OOMSnapshot{Pod: plan.OOMCounters{Kills: podresources.Finite(pod), LimitReached: podresources.Finite(pod)}, Containers: map[string]plan.OOMCounters{}}
			var containers []plan.OOMContainer
			for _, name := range names {
				if !exited[name] {
					after.Containers[name] = plan.OOMCounters{Kills: podresources.Finite(kills[name]), LimitReached: podresources.Finite(0)}
				}
				if _, seen := reported[name+" exited"]; !seen {
					containers = append(containers, plan.OOMContainer{Name: name, ID: name, Exited: exited[name], Killed: killed[name], ReportedOOM: true})
				}
				if exited[name] {
					reported[name+" exited"] = 1
				}
			}
			for _, r := range plan.DecideOOM(before, after, containers) {
				reported[r.Container] += r.Kills
				assert.Equal(t, plan.OOMLimitPod, r.Limit)
			}
			for _, name := range names {
				if !exited[name] || reported[name+" exited"] == 1 {
					assert.Equal(t, kills[name], reported[name], name)
				}
			}
			before = after
		}
	})
}
