package allocation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestObserve runs testdata. testdata/README.md explains the words. Each block is a story of one node, a command a line:
//
//	pod POD [worker=N] [started] [requested] [terminated] [runtime-only]
//	        [seen] [given] [active] [grace=D] [alone=T]      the observation of the pod
//	after D                                                   time passes
//	forget POD                                                it is not desired and has no worker
func TestObserve(t *testing.T) {
	datadriven.RunTest(t, "testdata/terminations.txt", func(t *testing.T, d *datadriven.TestData) string {
		table, now := New(Config{}), began
		var b strings.Builder
		for line := range strings.Lines(d.Input) {
			words := strings.Fields(line)
			fmt.Fprintln(&b, strings.Join(words, " "))
			switch words[0] {
			case "pod":
				fmt.Fprintln(&b, " ", describeUpdate(t, table, words[1:], now))
			case "after":
				now = now.Add(parseDuration(t, words[1]))
			case "forget":
				table.ForgetIncarnation(types.UID(words[1]))
			default:
				t.Fatalf("unknown command %q", words[0])
			}
		}
		return b.String()
	})
}

// describeUpdate returns the result of Observe as text.
func describeUpdate(t *testing.T, table *Table, words []string, now time.Time) string {
	uid := types.UID(words[0])
	one, progress := table.Observe(uid, parseObserved(t, words[1:]), now, func(from ClaimsFrom) Pod {
		return Pod{UID: uid, Pod: &v1.Pod{}, Source: []string{"node", "worker", "runtime"}[from]}
	})
	_, previous := table.State(uid)
	require.Equal(t, progress == StillTerminating, previous == Terminating)
	switch progress {
	case NotTerminating:
		return "not terminating"
	case HasTerminated:
		return "has terminated"
	}
	return fmt.Sprintf("terminating: since %s, until %s, as the %s has it", one.Since.Sub(began), one.Until.Sub(began), one.Pod.Source)
}

func parseObserved(t *testing.T, words []string) (o Observed) {
	o.Grace = 30 * time.Second
	flags := map[string]*bool{
		"started": &o.Started, "requested": &o.TerminationRequested, "terminated": &o.Terminated,
		"seen": &o.Seen, "given": &o.Given, "active": &o.Active,
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "worker":
			_, err := fmt.Sscan(value, &o.Incarnation)
			require.NoError(t, err)
			o.HasWorker = true
		case "grace":
			o.Grace = parseDuration(t, value)
		case "alone":
			o.OrphanGraceEnd = began.Add(parseDuration(t, value))
		case "runtime-only":
		default:
			require.Contains(t, flags, name)
			*flags[name] = true
		}
	}
	o.HasConfig = o.HasWorker && !slices.Contains(words, "runtime-only")
	return o
}

func parseDuration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// TestTerminatingPods_KeepTheirOrder: a terminating pod that is observed again, and one whose next
// incarnation has to terminate too, keep their places in the order of arrival. Handlers see the pods in that
// order.
func TestTerminatingPods_KeepTheirOrder(t *testing.T) {
	table := New(Config{Chain: walked})
	usage := NewUsage(walked)
	terminate := func(uid types.UID, incarnation uint64) {
		o := Observed{Worker: Worker{HasWorker: true, Incarnation: incarnation, HasConfig: true, Started: true, TerminationRequested: true}, Given: true, Seen: true}
		_, progress := table.Observe(uid, o, began, func(ClaimsFrom) Pod { return walkPods[string(uid)+" 1"] })
		require.Equal(t, StillTerminating, progress)
		usage.Update(table, 0)
	}
	for _, uid := range []types.UID{"b", "a", "c", "b", "a"} {
		terminate(uid, 1)
	}
	terminate("b", 2)
	names := func(pods []*v1.Pod) (names []string) {
		for _, pod := range pods {
			names = append(names, pod.Name)
		}
		return names
	}
	require.Equal(t, []types.UID{"b", "a", "c"}, table.UIDs())
	require.Equal(t, []string{"b", "a", "c"}, names(Snapshot{Terminating: table.TerminatingSums()}.Pods()))
	other := Pod{UID: "other", Pod: &v1.Pod{}}
	require.Equal(t, []string{"b", "a", "c"}, names(usage.SnapshotFor(&other, 0, true).Pods()))
}
