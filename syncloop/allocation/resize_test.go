package allocation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
)

// TestResizes runs testdata/resizes.txt. testdata/README.md explains the commands.
func TestResizes(t *testing.T) {
	datadriven.RunTest(t, "testdata/resizes.txt", func(t *testing.T, d *datadriven.TestData) string {
		s := newResizeStory("4", "8Gi")
		var b strings.Builder
		for line := range strings.Lines(d.Input) {
			fmt.Fprintln(&b, strings.TrimSpace(line))
			effects, err := s.runCommand(strings.Fields(line))
			require.NoError(t, err, line)
			for _, e := range effects {
				text := fmt.Sprintf("  %s %s generation %d", e.Kind, e.UID, e.Generation)
				if e.Answer.Reason != "" {
					text += ": " + e.Answer.Reason + ": " + e.Answer.Message
				}
				fmt.Fprintln(&b, text)
			}
		}
		return b.String()
	})
}

// resizeStory is a table on a node with some cpu and memory, and the generation of the last request of each pod.
type resizeStory struct {
	table       *Table
	capacity    v1.ResourceList
	now         time.Time
	generations map[string]int64
	last        ResizeRequest
}

func newResizeStory(cpu, memory string) *resizeStory {
	s := &resizeStory{capacity: v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}, now: began, generations: map[string]int64{}}
	// The rule reads the capacity at each call, so that a story can change it.
	rule := builtIn(func(claims Claims, staying, terminating Sums) []Reason {
		return Resources(s.capacity).Check(claims, staying, terminating)
	})
	s.table = New(Config{Chain: NewChain(rule, nil)})
	return s
}

// parsePod parses "a cpu=1 memory=1Gi prio=5 guaranteed".
func (s *resizeStory) parsePod(words []string) (Pod, error) {
	p := &v1.Pod{}
	p.UID, p.Namespace, p.Name = types.UID(words[0]), "ns", words[0]
	r := v1.ResourceRequirements{Requests: v1.ResourceList{}}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "cpu", "memory":
			r.Requests[v1.ResourceName(name)] = resource.MustParse(value)
		case "prio":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return Pod{}, err
			}
			priority := int32(n)
			p.Spec.Priority = &priority
		case "guaranteed":
			r.Limits = maps.Clone(r.Requests)
		default:
			return Pod{}, fmt.Errorf("unknown word %q", word)
		}
	}
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: r}}
	return s.table.chain.Pod(p, "", false), nil
}

func (s *resizeStory) runCommand(words []string) (effects []Effect, err error) {
	t, pod := s.table, Pod{}
	switch words[0] {
	case "stay", "resize", "end":
		if pod, err = s.parsePod(words[1:]); err != nil {
			return nil, err
		}
	}
	switch words[0] {
	case "capacity":
		s.capacity = v1.ResourceList{"cpu": resource.MustParse(words[1]), "memory": resource.MustParse(words[2])}
		t.Recheck()
	case "stay":
		t.SetStaying(pod)
	case "resize":
		s.generations[words[1]]++
		s.last = ResizeRequest{Pod: pod, Generation: s.generations[words[1]]}
		if !t.RequestResize(s.last, s.now) {
			return nil, fmt.Errorf("pod %s is not admitted", words[1])
		}
	case "same": // The last request arrives again.
		t.RequestResize(s.last, s.now)
	case "unsupported":
		s.generations[words[1]]++
		if pod, err = s.parsePod(words[1:]); err != nil {
			return nil, err
		}
		s.last = ResizeRequest{Pod: pod, Generation: s.generations[words[1]], Refusal: Answer{Reason: "Unsupported", Message: "no"}}
		t.RequestResize(s.last, s.now)
	case "cancel":
		t.CancelResize(types.UID(words[1]))
	case "leave":
		t.Remove(types.UID(words[1]))
	case "end":
		t.startTermination(pod.UID, t.ensureRecord(pod.UID), Termination{Pod: pod})
		t.Remove(pod.UID)
	case "gone":
		t.finishTerminationOf(types.UID(words[1]))
	case "later":
		s.now = s.now.Add(time.Minute)
		return nil, nil
	case "decide":
		return t.DecideResizes(nil), nil
	default:
		return nil, fmt.Errorf("unknown command %q", words[0])
	}
	return nil, nil
}

// TestTable_ResizeWalk gives every input in every order, up to a depth, to a table with two pods that are
// resized, with a decision after each step, and with one decision after the last step. After a decision it checks that no decision raises a sum above the capacity, that a deferred request
// fits the empty node and does not fit beside the other pod, that an infeasible request does not fit the empty
// node, and that only the effects change the claims.
func TestTable_ResizeWalk(t *testing.T) {
	inputs := []string{"capacity 2 1Gi", "capacity 3 1Gi"}
	for _, uid := range []string{"a", "b"} {
		for _, line := range []string{"stay P cpu=1", "resize P cpu=1", "resize P cpu=2", "resize P cpu=3", "cancel P", "leave P", "end P cpu=1", "gone P"} {
			inputs = append(inputs, strings.ReplaceAll(line, "P", uid))
		}
	}
	depth := longtest.Count(4, 5)
	var walk func(path []string)
	steps := 0
	walk = func(path []string) {
		if len(path) > 0 {
			steps++
			s := newResizeStory("2", "1Gi")
			for _, line := range path {
				_, _ = s.runCommand(strings.Fields(line)) // A resize of a pod that is not admitted has no effect.
				require.NoError(t, s.decideAndCheck(), "%v", path)
			}
			s = newResizeStory("2", "1Gi")
			for _, line := range path {
				_, _ = s.runCommand(strings.Fields(line))
			}
			require.NoError(t, s.decideAndCheck(), "%v, and one decision", path)
		}
		if len(path) == depth {
			return
		}
		for _, line := range inputs {
			walk(append(path[:len(path):len(path)], line))
		}
	}
	walk([]string{"stay a cpu=1", "stay b cpu=1"})
	t.Logf("%d histories of %d steps", steps, depth)
}

// decideAndCheck decides about the requests and checks the result.
func (s *resizeStory) decideAndCheck() error {
	t := s.table
	sum := func() resource.Quantity {
		q := t.StayingSums().Requested("cpu")
		q.Add(t.TerminatingSums().Requested("cpu"))
		return q
	}
	before := sum()
	effects := t.DecideResizes(nil)
	after := sum()
	capacity := s.capacity["cpu"]
	if after.Cmp(before) > 0 && after.Cmp(capacity) > 0 {
		return fmt.Errorf("the decision raises the sum from %s to %s of %s", before.String(), after.String(), capacity.String())
	}
	for _, e := range effects {
		state, _ := t.ResizeState(e.UID)
		if want := map[EffectKind]ResizeState{AllocateResize: NoResize, DeferResize: ResizeDeferred, RefuseResize: ResizeInfeasible}[e.Kind]; state != want {
			return fmt.Errorf("%s of %s, whose request is %s", e.Kind, e.UID, state)
		}
	}
	if again := t.DecideResizes(nil); len(again) > 0 {
		return fmt.Errorf("a second decision has effects: %v", again)
	}
	for _, uid := range []types.UID{"a", "b"} {
		state, answer := t.ResizeState(uid)
		if state == NoResize {
			continue
		}
		r := t.records[uid].newestIncarnation()
		if r.state != Admitted || !slices.Contains(t.resizing, uid) {
			return fmt.Errorf("%s has a request and is %s", uid, r.state)
		}
		want := r.resize.Pod.Claims.Quantities["cpu"]
		if fits := want.Cmp(capacity) <= 0; fits != (state == ResizeDeferred) || answer.Reason != "OutOfcpu" {
			return fmt.Errorf("the request of %s for %s of %s is %s: %s", uid, want.String(), capacity.String(), state, answer.Reason)
		}
		own := t.staying.get(uid).Claims.Quantities["cpu"]
		free := after.DeepCopy()
		free.Sub(own)
		free.Add(want)
		if want.Cmp(own) <= 0 || free.Cmp(capacity) <= 0 {
			return fmt.Errorf("the request of %s for %s waits, and the sum would be %s", uid, want.String(), free.String())
		}
	}
	return nil
}

// quantityRule is a stranger's rule: at most two licences for all pods.
type quantityRule struct{}

func (quantityRule) Claims(pod *v1.Pod) Claims {
	return Claims{Quantities: v1.ResourceList{"licence": pod.Spec.Containers[0].Resources.Requests["licence"]}}
}

func (quantityRule) Check(claims Claims, staying, terminating Sums) []Reason {
	want, used := claims.Quantities["licence"], staying.Requested("licence")
	used.Add(terminating.Requested("licence"))
	if exceedsCapacity(want, used, resource.MustParse("2")) {
		return []Reason{{Reason: "NoLicence", Message: "two"}}
	}
	return nil
}

// TestTable_Resize_OwnRule: a rule of the host program decides about a resize, unless its claims do not increase.
func TestTable_Resize_OwnRule(t *testing.T) {
	chain := NewChain(quantityRule{}, Resources(v1.ResourceList{"cpu": resource.MustParse("4")}))
	pod := func(uid, licences, cpu string) Pod {
		p := &v1.Pod{}
		p.UID, p.Name = types.UID(uid), uid
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"licence": resource.MustParse(licences), "cpu": resource.MustParse(cpu)}}}}
		return chain.Pod(p, "", false)
	}
	table := New(Config{Chain: chain})
	table.SetStaying(pod("a", "1", "1"))
	table.SetStaying(pod("b", "2", "1")) // Admitted before the rule existed, so three licences are used.
	request := func(p Pod, generation int64) []Effect {
		require.True(t, table.RequestResize(ResizeRequest{Pod: p, Generation: generation}, began))
		return table.DecideResizes(nil)
	}
	effects := request(pod("a", "1", "2"), 1)
	require.Len(t, effects, 1)
	assert.Equal(t, AllocateResize, effects[0].Kind, "the licences do not increase")
	effects = request(pod("a", "2", "2"), 2)
	require.Len(t, effects, 1)
	assert.Equal(t, DeferResize, effects[0].Kind)
	assert.Equal(t, "NoLicence", effects[0].Answer.Reason)
	table.Remove("b")
	effects = table.DecideResizes(nil)
	require.Len(t, effects, 1)
	assert.Equal(t, AllocateResize, effects[0].Kind)
	used := table.staying.requestedQuantity(1, "licence")
	assert.Equal(t, "2", used.String())
}

// TestTable_RequestResize_Unknown: a pod that is not admitted has no request.
func TestTable_RequestResize_Unknown(t *testing.T) {
	s := newResizeStory("1", "1Gi")
	pod, err := s.parsePod([]string{"a", "cpu=1"})
	require.NoError(t, err)
	assert.False(t, s.table.RequestResize(ResizeRequest{Pod: pod, Generation: 1}, began))
	s.table.Reject("a")
	assert.False(t, s.table.RequestResize(ResizeRequest{Pod: pod, Generation: 1}, began))
	assert.Empty(t, s.table.DecideResizes(nil))
	state, _ := s.table.ResizeState("a")
	assert.Equal(t, NoResize, state)
}

// TestTable_Resize_Fault: a built-in rule that panics defers a resize. The table decides again after RecheckFaults, and
// returns no effect while the rule still panics.
func TestTable_Resize_Fault(t *testing.T) {
	broken := true
	rule := builtIn(func(claims Claims, staying, terminating Sums) []Reason {
		if broken {
			return []Reason{{Kind: KindFault, Reason: "Panicked"}}
		}
		return nil
	})
	s := &resizeStory{table: New(Config{Chain: NewChain(rule)}), now: began, generations: map[string]int64{}}
	_, err := s.runCommand([]string{"stay", "a", "cpu=1"})
	require.NoError(t, err)
	_, err = s.runCommand([]string{"resize", "a", "cpu=2"})
	require.NoError(t, err)
	effects := s.table.DecideResizes(nil)
	require.Len(t, effects, 1)
	assert.Equal(t, DeferResize, effects[0].Kind)
	assert.Equal(t, "Panicked", effects[0].Answer.Reason)
	assert.Empty(t, s.table.DecideResizes(nil))
	requests := s.table.ResizesWithFaults()
	require.Len(t, requests, 1)
	assert.Equal(t, types.UID("a"), requests[0].Pod.UID)
	s.table.RecheckFaults()
	assert.Empty(t, s.table.DecideResizes(nil))
	broken = false
	s.table.RecheckFaults()
	effects = s.table.DecideResizes(nil)
	require.Len(t, effects, 1)
	assert.Equal(t, AllocateResize, effects[0].Kind)
	assert.Empty(t, s.table.ResizesWithFaults())
}

// TestTable_Resize_RefusalFault: a refusal that is a fault defers a resize, until the caller requests it again without.
func TestTable_Resize_RefusalFault(t *testing.T) {
	s := newResizeStory("4", "1Gi")
	pod, err := s.parsePod([]string{"a", "cpu=1"})
	require.NoError(t, err)
	_, err = s.runCommand([]string{"stay", "a", "cpu=1"})
	require.NoError(t, err)
	request := ResizeRequest{Pod: pod, Generation: 1, Refusal: Answer{Fault: true, Message: "panicked"}}
	require.True(t, s.table.RequestResize(request, began))
	effects := s.table.DecideResizes(nil)
	require.Len(t, effects, 1)
	assert.Equal(t, DeferResize, effects[0].Kind)
	assert.Len(t, s.table.ResizesWithFaults(), 1)
	request.Refusal = Answer{}
	require.True(t, s.table.RequestResize(request, began))
	effects = s.table.DecideResizes(nil)
	require.Len(t, effects, 1)
	assert.Equal(t, AllocateResize, effects[0].Kind)
}
