package nodetest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podworkers/podsync/objects"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

var (
	historyStore = flag.Int("nodetest.histories", 0, "how many random histories to live through; 0: as many as PODKEEL_LONG says")
	firstSeed    = flag.Uint64("nodetest.first", 0, "the seed of the first of them")
	details      = flag.Bool("nodetest.details", false, "say of a history that fails what was done in it, with specs and statuses")
)

// TestHistories_I41_I52 runs random histories. Pods of all kinds are added, changed, removed and added again.
// Containers and sandboxes die or are lost. Pods are evicted, and objects appear late. The runtime fails, lies, loses
// replies and goes down, and the agent crashes at any step. The simulation's invariants hold all the time. After the
// last fault every pod reaches the state that its spec requires, and after all pods are dropped nothing is left. The
// same seed gives the same history. In every other history the runtime only fails as a whole: there the test can check
// more of the node's calls.
func TestHistories_I41_I52(t *testing.T) {
	n := *historyStore
	if n == 0 {
		n = longtest.Count(8, 30)
	}
	for seed := *firstSeed; seed < *firstSeed+uint64(n); seed++ {
		first := runHistory(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, first)
		}
		if seed%10 == 0 {
			require.Equal(t, first, runHistory(t, seed), "seed %d gave another transcript the second time", seed)
		}
	}
}

// history is one random sequence of events of a node.
type history struct {
	t               *testing.T
	random          *rand.Rand
	b               *nodetest.Simulation
	faults          *faulty.Faults // nil: none
	objects         *objects.Map
	recordedVolumes *recordedVolumes
	crowded         bool
	names           int // how many pods have been made up
	desired         []*desiredPod
	wide            *wide           // nil: the history has nothing of it
	done            strings.Builder // the actions, for a reader of a failure
}

// desiredPod is a pod of the configuration.
type desiredPod struct {
	pod             *v1.Pod
	evicted, forgot bool
	deleted         bool // it has a deletion timestamp
}

func runHistory(t *testing.T, seed uint64) string {
	t.Helper()
	h := &history{t: t, random: rand.New(rand.NewPCG(seed, 1)), objects: objects.NewMap()}
	h.recordedVolumes = newRecordedVolumes(inmemory.New(inmemory.Config{Objects: h.objects}))
	config := nodetest.Config{Seed: seed, Details: *details, Node: node.Config{Volumes: node.VolumesConfig{Objects: h.objects, Manager: h.recordedVolumes, Files: h.recordedVolumes}}}
	if seed%2 == 0 {
		faults, err := faulty.New(faulty.Config{})
		require.NoError(t, err)
		h.faults, config.Wrap = faults, faults.Wrap
	}
	if h.crowded = seed%7 == 0; h.crowded {
		config.Node.Scheduling.MaxPods = 4
	}
	if seed%4 >= 2 {
		h.wide = newWide(seed, &config.Node)
	}
	h.b = nodetest.New(t, config)
	for range 40 {
		if h.wide != nil && h.wide.IntN(5) == 0 {
			h.actWide()
		} else {
			h.takeAction()
		}
		h.b.Run(time.Duration(h.random.IntN(4000)) * time.Millisecond)
	}
	h.endFaults()
	h.checkFinalState()
	if !t.Failed() {
		h.deleteAllPods()
	}
	h.b.Stop()
	return h.done.String() + h.b.Transcript()
}

// noteAction records an action on the node or the machine if the flag nodetest.details is set.
func (h *history) noteAction(format string, args ...any) {
	if *details {
		fmt.Fprintf(&h.done, "%10s  %s\n", h.b.Now().Sub(nodetest.Epoch), fmt.Sprintf(format, args...))
	}
}

func (h *history) noteSpec(p *v1.Pod) {
	if !*details {
		return
	}
	spec, err := json.Marshal(p.Spec)
	require.NoError(h.t, err)
	h.noteAction("set %s %s %s %v", p.Name, p.UID, spec, p.Annotations)
}

// endFaults ends all faults, and lets time pass until the node is idle.
func (h *history) endFaults() {
	h.clearFaults()
	if h.wide != nil {
		h.allowPulls()
	}
	h.b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true})
	for _, w := range h.desired {
		h.applyObjects(w.pod.Name)
	}
	h.b.Run(85 * time.Minute) // Longer than any backoff, and than a pull and then a hook may hang.
}

func (h *history) clearFaults() {
	if h.faults != nil {
		h.faults.Clear()
	}
}

// applyObjects creates the ConfigMap and the Secret that a pod refers to.
func (h *history) applyObjects(name string) {
	meta := metav1.ObjectMeta{Namespace: "default", Name: name}
	h.objects.ApplyConfigMap(&v1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"color": "red"}})
	h.objects.ApplySecret(&v1.Secret{ObjectMeta: meta, Data: map[string][]byte{"color": []byte("blue")}})
}

// takeAction takes one random action.
func (h *history) takeAction() {
	switch n := h.random.IntN(24); {
	case n < 5:
		h.addPod()
	case n < 7:
		h.changePod()
	case n < 9:
		h.dropPod()
	case n < 10:
		h.evictPod()
	case n < 11:
		h.changeObjects()
	case n < 14:
		h.killContainers()
	case n < 16:
		up := h.random.IntN(3) > 0
		h.b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: up, NetworkReady: h.random.IntN(3) > 0})
	case n < 19:
		h.addFault()
	case n < 21:
		h.crashAgent()
	default:
		h.clearFaults()
		h.b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true})
	}
}

// addPod applies another random pod. If there are enough pods, it recreates one.
func (h *history) addPod() {
	if len(h.desired) >= 5 {
		h.recreatePod()
		return
	}
	h.names++
	h.applyPod(randomPod(h.random, fmt.Sprintf("pod-%d", h.names)))
}

func (h *history) applyPod(p *v1.Pod) *desiredPod {
	if h.wide != nil {
		h.wide.addRareFields(p)
	}
	w := &desiredPod{pod: p}
	h.desired = append(h.desired, w)
	h.noteSpec(p)
	h.b.Apply(p)
	return w
}

// anyDesired returns a random desired pod and its index. It returns false if no pod is desired.
func (h *history) anyDesired() (int, *desiredPod, bool) {
	if len(h.desired) == 0 {
		return 0, nil, false
	}
	i := h.random.IntN(len(h.desired))
	return i, h.desired[i], true
}

func (h *history) dropPod() {
	if i, w, ok := h.anyDesired(); ok {
		h.desired = slices.Delete(h.desired, i, i+1)
		h.noteAction("drop %s", w.pod.UID)
		h.b.Delete(w.pod.UID)
	}
}

// recreatePod deletes a pod and applies another pod with its name, mostly with its UID, immediately or a little later.
func (h *history) recreatePod() {
	i, w, ok := h.anyDesired()
	if !ok {
		return
	}
	h.desired = slices.Delete(h.desired, i, i+1)
	h.noteAction("drop %s, and want its name again", w.pod.UID)
	h.b.Delete(w.pod.UID)
	h.b.Run(time.Duration(h.random.IntN(2)*h.random.IntN(8000)) * time.Millisecond)
	p := randomPod(h.random, w.pod.Name)
	if h.random.IntN(3) == 0 {
		h.names++
		p.UID = types.UID(fmt.Sprintf("uid-%d", h.names))
	}
	h.applyPod(p)
}

// changePod changes a mutable field of a pod: an image, or one more ephemeral container.
func (h *history) changePod() {
	_, w, ok := h.anyDesired()
	if !ok {
		return
	}
	p := w.pod.DeepCopy()
	switch n := len(p.Spec.InitContainers); {
	case h.random.IntN(2) == 0:
		addEphemeralContainer(p, h.random.IntN(2) == 0)
	case n > 0 && h.random.IntN(3) == 0:
		p.Spec.InitContainers[h.random.IntN(n)].Image += "0"
	default:
		p.Spec.Containers[h.random.IntN(len(p.Spec.Containers))].Image += "0"
	}
	w.pod = p
	h.noteSpec(p)
	h.b.Apply(p)
}

func (h *history) evictPod() {
	_, w, ok := h.anyDesired()
	if !ok {
		return
	}
	e := node.Eviction{Message: "the history says so"}
	if h.random.IntN(2) == 0 {
		e.GraceSeconds = new(int64(h.random.IntN(10)))
	}
	if _, err := h.b.Node().Evict(w.pod.UID, e); err != nil {
		assert.ErrorIs(h.t, err, node.ErrUnknownPod)
		return
	}
	h.noteAction("evict %s", w.pod.UID)
	w.evicted, w.forgot = true, false
	if h.wide != nil {
		h.wide.evicted[w.pod.UID] = true
	}
}

// changeObjects creates or deletes the objects of a pod.
func (h *history) changeObjects() {
	_, w, ok := h.anyDesired()
	switch {
	case !ok:
	case h.random.IntN(3) > 0:
		h.applyObjects(w.pod.Name)
	default:
		h.objects.DeleteConfigMap("default", w.pod.Name)
		h.objects.DeleteSecret("default", w.pod.Name)
	}
}

// killContainers kills or loses containers and sandboxes without a call of the agent.
func (h *history) killContainers() {
	m := h.b.Machine()
	for _, p := range m.Snapshot() {
		if h.random.IntN(3) > 0 {
			continue
		}
		for _, c := range p.Containers {
			switch running := c.State == runtime.StateRunning; {
			case running && h.random.IntN(2) == 0:
				h.noteAction("exit %s %s attempt %d", p.Name, c.Name, c.Attempt)
				require.NoError(h.t, m.ExitContainer(c.ID, []int32{0, 1, 2, 42}[h.random.IntN(4)]))
			case h.random.IntN(8) == 0:
				h.noteAction("lose %s %s attempt %d, %s", p.Name, c.Name, c.Attempt, c.State)
				require.NoError(h.t, m.LoseContainer(c.ID))
			}
		}
		for _, s := range p.Sandboxes {
			if s.Ready && h.random.IntN(4) == 0 {
				h.noteAction("kill the sandbox of %s, attempt %d", p.Name, s.Attempt)
				require.NoError(h.t, m.KillSandbox(s.ID))
			} else if h.random.IntN(12) == 0 {
				h.noteAction("lose the sandbox of %s, attempt %d", p.Name, s.Attempt)
				require.NoError(h.t, m.LoseSandbox(s.ID))
			}
		}
	}
}

// addFault adds a fault to a few calls.
func (h *history) addFault() {
	if h.faults == nil {
		return
	}
	verbs := []string{faulty.RunSandbox, faulty.StopSandbox, faulty.RemoveSandbox, faulty.CreateContainer, faulty.StartContainer,
		faulty.StopContainer, faulty.RemoveContainer, faulty.PodStatus, faulty.ListPods, faulty.PullImage, faulty.ImageStatus,
		faulty.ListImages, faulty.Events, faulty.RunHandler, faulty.RunHandler, faulty.RuntimeStatus, faulty.RemoveImage}
	rule := faulty.Rule{Verb: verbs[h.random.IntN(len(verbs))], Times: 1 + h.random.IntN(3)}
	switch h.random.IntN(7) {
	case 0:
		rule.Do = faulty.Fail
	case 1:
		rule.Do = faulty.FailDone
	case 2:
		rule.Do = faulty.Hang
	case 3:
		rule.Do = faulty.HangDone
	case 4:
		rule.Latency = time.Duration(h.random.IntN(20)) * time.Second
	case 5:
		rule.Verb, rule.Do = faulty.StopContainer, faulty.Lie
	case 6:
		rule.Verb, rule.Do = faulty.RunHandler, faulty.Lie
	}
	h.noteAction("fault %+v", rule)
	_, err := h.faults.Add(rule)
	require.NoError(h.t, err)
}

// crashAgent crashes the agent after a few steps and starts another one.
func (h *history) crashAgent() {
	for range h.random.IntN(60) {
		h.b.Step()
	}
	h.noteAction("crash")
	h.b.Crash()
	for _, w := range h.desired {
		w.forgot = true
	}
	if h.random.IntN(3) == 0 {
		h.dropPod() // No agent runs that could see it.
	}
	if h.wide != nil && h.wide.terminalStatuses != nil {
		h.wide.terminalStatuses.reopenStore()
	}
	h.b.Run(time.Duration(h.random.IntN(5000)) * time.Millisecond)
	h.b.Start()
}

// checkFinalState compares the observed state with the desired state. The node must be idle.
func (h *history) checkFinalState() {
	left := map[types.UID]*runtime.Pod{}
	for _, p := range h.b.Machine().Snapshot() {
		left[p.UID] = &p
	}
	known := map[types.UID]*v1.Pod{}
	for _, p := range h.b.Node().Pods() {
		known[p.UID] = p
	}
	for _, w := range h.desired {
		v := verdict{pod: w.pod, evicted: w.evicted, forgot: w.forgot, deleted: w.deleted, crowded: h.crowded}
		if h.wide != nil && h.wide.terminalStatuses != nil {
			v.before, v.overdue = h.wide.evicted[w.pod.UID], h.wide.overdue[w.pod.UID]
		}
		if p := left[w.pod.UID]; p != nil {
			for _, c := range p.Containers {
				if c.State == runtime.StateRunning {
					v.runs = append(v.runs, c.Name)
				}
			}
		}
		if p := known[w.pod.UID]; assert.NotNil(h.t, p, "pod %s is desired and not known", w.pod.Name) {
			v.status = &p.Status
			assert.Empty(h.t, v.findFaults(), "pod %s: %s %s: %s", w.pod.Name, p.Status.Phase, p.Status.Reason, p.Status.Message)
		}
		delete(left, w.pod.UID)
	}
	for _, p := range left {
		assert.Fail(h.t, "something is left of what is not desired", "pod %s %s", p.Name, p.UID)
	}
}

// deleteAllPods deletes all pods and checks that no records and no volumes are left.
func (h *history) deleteAllPods() {
	for _, w := range h.desired {
		h.b.Delete(w.pod.UID)
	}
	h.b.Run(30 * time.Minute)
	assert.Empty(h.t, h.b.Machine().Snapshot(), "records of pods that are gone")
	assert.Empty(h.t, h.b.Node().Pods(), "pods that are gone")
	assert.Empty(h.t, h.recordedVolumes.remainingPods(), "volumes of pods that are gone")
	h.b.Go(func() {
		_, err := h.b.Node().Containers().DeleteUnusedImages(h.t.Context())
		assert.NoError(h.t, err)
	})
	h.b.Run(time.Minute)
	images, err := h.b.Machine().ListImages(h.t.Context())
	require.NoError(h.t, err)
	assert.Empty(h.t, images, "images that somebody holds")
}
