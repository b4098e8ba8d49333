package created_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/localapi/internal/created"
)

var (
	states  = []string{"Unknown", "Restored", "Desired", "Held", "Deleting", "Removed"}
	effects = []string{"Show", "ShowLast", "Hide", "Apply", "InspectDeleting", "Forget"}
	kinds   = []string{"restore", "create", "update", "delete", "refused", "report", "inspect", "forgotten", "expire"}
	nodes   = []string{"active", "ended", "absent"}
)

// parse parses an event: its kind and its facts.
func parse(line string) (e created.Event, err error) {
	for i, word := range strings.Fields(line) {
		kind, node := slices.Index(kinds, word), slices.Index(nodes, word)
		switch {
		case i == 0 && kind >= 0:
			e.Kind = created.Kind(kind)
		case node >= 0:
			e.Node = created.Observation(node)
		case word == "deleting":
			e.Deleting = true
		case word == "finalizers":
			e.Finalizers = true
		case word == "static":
			e.Static = true
		case word == "late":
			e.Age = created.RemovedRetention + 1
		default:
			return e, fmt.Errorf("%q is not a word of an event", word)
		}
	}
	return e, nil
}

// machine models the saved pod, the node's pod and the pod that clients see. It performs the effects as the API does.
type machine struct {
	State     created.State
	Saved     bool // whether a restart finds the pod
	Deleted   bool // whether the saved pod has a deletion timestamp
	Finalizer bool // whether the saved pod has finalizers
	OnNode    bool
	Shown     bool
	Forgets   bool // whether Forget is in progress
	Refused   bool // whether the lock of the pod's name is held until the pod is forgotten
}

// step sends one event to the table and returns the new state and the effects.
func (m *machine) step(line string) (string, error) {
	if line == "crash" {
		return m.crash()
	}
	e, err := parse(line)
	if err != nil {
		return "", err
	}
	own := m.State.IsOwned()
	switch {
	case m.Refused && (e.Kind == created.Update || e.Kind == created.Delete):
		return "waits for the lock of the name", nil
	case e.Kind == created.Create && !own && m.State != created.Removed:
		m.Saved, m.Finalizer = true, e.Finalizers
	case own && (e.Kind == created.Update || e.Kind == created.Delete): // The API reads the facts from the pod.
		m.Deleted = m.Deleted || e.Kind == created.Delete
		m.Finalizer = m.Finalizer && e.Kind == created.Delete || e.Finalizers && (m.Finalizer || !m.Deleted)
		e.Deleting, e.Finalizers = m.Deleted, m.Finalizer
	case e.Kind == created.Restore:
		return "", fmt.Errorf("only a crash restores")
	case e.Kind == created.Forgotten && m.Forgets: // The effect removes both first.
		m.Saved, m.OnNode, m.Forgets, m.Refused = false, false, false, false
	case e.Kind == created.Forgotten:
		return "nothing was to be forgotten", nil
	}
	return m.next(e)
}

// crash starts the next process, which finds only the saved pod.
func (m *machine) crash() (string, error) {
	*m = machine{Saved: m.Saved, Deleted: m.Deleted && m.Saved, Finalizer: m.Finalizer && m.Saved, OnNode: m.Saved}
	if !m.Saved {
		return "nothing is saved", nil
	}
	return m.next(created.Event{Kind: created.Restore, Deleting: m.Deleted, Finalizers: m.Finalizer})
}

// next sends an event and performs its effects.
func (m *machine) next(e created.Event) (string, error) {
	before := *m
	state, todo := m.State.Next(e)
	m.State = state
	words := []string{states[state]}
	for _, effect := range todo {
		words = append(words, effects[effect])
		switch effect {
		case created.Show:
			m.Shown = true
		case created.Hide:
			m.Shown = false
		case created.Apply:
			m.OnNode = true
			if !m.Saved {
				return "", fmt.Errorf("a pod that is not saved is given to the node")
			}
		case created.Forget:
			m.Forgets, m.Refused = true, e.Kind == created.Refused
		}
	}
	if state == created.Removed || state == created.Unknown {
		m.Deleted, m.Finalizer = false, false
	}
	return strings.Join(words, " "), m.check(before, e)
}

// check returns an error if an invariant is broken after an event.
func (m *machine) check(before machine, e created.Event) error {
	deleted := func(s created.State) bool { return s == created.Held || s == created.Deleting }
	switch {
	case m.Saved != m.State.IsOwned():
		return fmt.Errorf("a restart would change the pod: state %s, saved %v", states[m.State], m.Saved)
	case m.State.IsOwned() && !m.Shown:
		return fmt.Errorf("clients do not see a pod that they have created")
	case m.State == created.Removed && m.Shown:
		return fmt.Errorf("clients see a pod that is gone")
	case deleted(before.State) && m.State.IsOwned() && !deleted(m.State):
		return fmt.Errorf("a deletion was taken back")
	case deleted(m.State) != (m.State.IsOwned() && m.Deleted):
		return fmt.Errorf("a deletion was lost, or made up")
	case m.State == created.Held && !m.Finalizer || m.State == created.Deleting && m.Finalizer:
		return fmt.Errorf("finalizers %v in state %s", m.Finalizer, states[m.State])
	case m.Forgets && m.State == created.Held:
		return fmt.Errorf("a pod with finalizers is forgotten")
	case m.Forgets && !before.Forgets && e.Kind != created.Refused && e.Node == created.Active:
		return fmt.Errorf("a pod that runs is forgotten")
	case before.State.IsOwned() && !m.State.IsOwned() && e.Kind != created.Forgotten:
		return fmt.Errorf("a pod of a client is lost")
	}
	return nil
}

// TestStories runs the stories in testdata. Each story starts with an unknown UID.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var m machine
			var b strings.Builder
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSpace(line)
				answer, err := m.step(line)
				require.NoError(t, err, line)
				fmt.Fprintf(&b, "%s -> %s\n", line, answer)
			}
			return b.String()
		})
	})
}

// events returns all events with all facts of their kinds, and a crash.
func events() []string {
	all := []string{"crash", "create", "create finalizers", "update", "update finalizers", "delete", "refused", "forgotten"}
	for _, node := range nodes {
		all = append(all, "inspect "+node, "expire "+node, "expire late "+node)
		for _, facts := range []string{"", " deleting", " static", " static deleting"} {
			all = append(all, "report "+node+facts)
		}
	}
	return all
}

// TestWalk sends every event in every state that any sequence of events reaches, and checks the invariants after each
// event. From each state a deleted pod without finalizers disappears when it has terminated.
func TestWalk(t *testing.T) {
	type path struct {
		machine
		way string
	}
	seen := map[machine]bool{{}: true}
	reached := map[created.State]bool{}
	for level := []path{{}}; len(level) > 0; {
		var next []path
		for _, p := range level {
			reached[p.State] = true
			requireEnd(t, p.machine, p.way)
			for _, line := range events() {
				m := p.machine
				_, err := m.step(line)
				require.NoError(t, err, "%s\n%s", p.way, line)
				if !seen[m] {
					seen[m] = true
					next = append(next, path{m, p.way + line + "\n"})
				}
			}
		}
		level = next
	}
	require.Len(t, reached, len(states))
	t.Logf("%d states of the machine, %d events in each", len(seen), len(events()))
}

// requireEnd deletes the pod, terminates it, and requires that nothing is left.
func requireEnd(t *testing.T, m machine, way string) {
	if !m.State.IsOwned() {
		return
	}
	end := []string{"delete", "update", "inspect ended", "forgotten", "expire late absent"}
	if m.Refused {
		end = end[3:]
	}
	for _, line := range end {
		_, err := m.step(line)
		require.NoError(t, err, "%s\nthen %s", way, line)
	}
	require.Equal(t, machine{}, m, way)
}

// TestNext_Unchanged checks that an event which does not apply to a state changes nothing.
func TestNext_Unchanged(t *testing.T) {
	for state, all := range map[created.State][]created.Kind{
		created.Unknown:  {created.Update, created.Delete, created.Refused, created.Inspect, created.Forgotten, created.Expire},
		created.Removed:  {created.Restore, created.Create, created.Update, created.Delete, created.Refused, created.Report, created.Inspect, created.Forgotten},
		created.Desired:  {created.Restore, created.Create, created.Inspect, created.Expire},
		created.Held:     {created.Restore, created.Create, created.Refused, created.Inspect, created.Forgotten, created.Expire},
		created.Deleting: {created.Restore, created.Create, created.Refused, created.Expire},
	} {
		for _, kind := range all {
			next, todo := state.Next(created.Event{Kind: kind, Node: created.Active, Age: time.Hour})
			require.Equal(t, state, next, "%s %s", states[state], kinds[kind])
			require.Empty(t, todo)
		}
	}
}
