package nodetest_test

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

var resourceHistories = flag.Int("nodetest.resources", 0, "number of random histories of resources, from the seed nodetest.first on; 0: as many as PODKEEL_LONG says")

// TestNodeResources runs random histories of a node with pressure, resizes, growing containers, crashes and faults of
// the runtime. At every step:
//
//   - No critical pod is evicted, one pass evicts at most one pod for pressure, and no second one before the first one has
//     stopped.
//   - An evicted pod is Failed and Evicted for ever, exactly once, and nothing of it starts.
//   - No decision raises the allocated requests above the allocatable amount.
//   - Each container has values that were allocated to it, and is not started above them or above its pod.
//   - The limits of a pod are at least the limits of its containers, after each call of the runtime.
//
// In the end every running container and the cgroup of its pod have the allocated resources, and a resize is pending
// only if it does not fit.
func TestNodeResources(t *testing.T) {
	n := *resourceHistories
	if n == 0 {
		n = longtest.Count(6, 120)
	}
	for seed := *firstSeed; seed < *firstSeed+uint64(n); seed++ {
		// Each history is a test of its own, so that its memory is free afterwards.
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { runResourceHistory(t, seed) }) && t.Failed() && *resourceHistories == 0 {
			return
		}
	}
}

// resourceHistory is one random sequence of events that concern resources.
type resourceHistory struct {
	resourceChecks
	t         *testing.T
	seed      uint64
	random    *rand.Rand
	b         *nodetest.Simulation
	began     time.Time
	faults    *faulty.Faults
	machine   *resourceMachine
	pressure  *nodetest.Pressure
	files     *source.Handle
	stores    resourceStores
	root      string
	desired   map[string]*v1.Pod // by name
	names     int
	faultList []string
	done      strings.Builder
}

// resourceStores are the checkpoints of the present node.
type resourceStores struct {
	resources *storedResources
	statuses  *storedStatuses
}

// storedStatuses are the stored terminal statuses of the newest node.
type storedStatuses struct{ *checkpoint.Dir }

// runResourceHistory runs the history of one seed.
func runResourceHistory(t *testing.T, seed uint64) {
	h := newResourceHistory(t, seed)
	for range 30 {
		h.takeAction()
		h.runFor(time.Duration(h.random.IntN(5000)) * time.Millisecond)
	}
	h.endTrouble()
	h.runFor(8 * time.Minute)
	h.checkFinal()
	h.requireNoFault()
	h.b.Stop()
}

func newResourceHistory(t *testing.T, seed uint64) *resourceHistory {
	h := &resourceHistory{
		resourceChecks: newResourceChecks(), t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 24)), root: t.TempDir(), files: source.NewHandle(),
		stores: resourceStores{&storedResources{}, &storedStatuses{}}, desired: map[string]*v1.Pod{},
		pressure: &nodetest.Pressure{MemoryBytes: 2000 * mebi, DiskBytes: 10_000 * mebi, Processes: 40},
	}
	var err error
	h.faults, err = faulty.New(faulty.Config{})
	require.NoError(t, err)
	h.machine = newResourceMachine(h, []string{"v1", "v2", "hybrid"}[seed%3])
	h.openStores()
	h.b = nodetest.New(t, nodetest.Config{Seed: seed, Details: *details, Wrap: h.machine.wrapRuntime, Configure: h.configureNode, Node: node.Config{
		Pods:    node.PodsConfig{AllocatedResources: h.stores.resources, TerminalStatuses: h.stores.statuses, Sources: map[string]source.Source{"file": h.files}},
		Cgroups: node.CgroupsConfig{PodCgroups: managerOfMachine{h.machine.manager, h.machine}, MaxPIDs: 100},
		Scheduling: node.SchedulingConfig{
			Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4500m"), v1.ResourceMemory: resource.MustParse("2000Mi")},
			Reserved: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("200Mi")},
		},
	}})
	h.began = h.b.Now()
	allocatable := h.b.Node().Scheduling().Allocatable()
	require.Equal(t, []int64{h.allocatable(v1.ResourceCPU), h.allocatable(v1.ResourceMemory)}, []int64{allocatable.Cpu().MilliValue(), allocatable.Memory().Value()}, "allocatable")
	require.NoError(t, h.files.Replace(nil))
	return h
}

// allocatable returns how much of a resource pods can request: the capacity less the reserved resources and, for memory,
// less the hard threshold of eviction.
func (h *resourceHistory) allocatable(name v1.ResourceName) int64 {
	return map[v1.ResourceName]int64{v1.ResourceCPU: 4000, v1.ResourceMemory: 1600 * mebi}[name]
}

// openStores opens the checkpoints as the next node does.
func (h *resourceHistory) openStores() {
	log := slog.New(slog.NewTextHandler(h.t.Output(), nil))
	resources, err := checkpoint.NewResources(checkpoint.Config{Root: filepath.Join(h.root, "resources"), Log: log})
	require.NoError(h.t, err)
	statuses, err := checkpoint.New(checkpoint.Config{Root: filepath.Join(h.root, "statuses"), Log: log})
	require.NoError(h.t, err)
	h.stores.resources.Resources, h.stores.statuses.Dir = resources, statuses
}

// configureNode configures eviction, and lets the checks observe the passes and evictions.
func (h *resourceHistory) configureNode(c *node.Config) {
	settings := eviction.Settings{
		Hard:            map[string]string{"memory.available": "200Mi", "nodefs.available": "10%", "imagefs.available": "10%", "pid.available": "5"},
		Soft:            map[string]string{"memory.available": "500Mi"},
		SoftGracePeriod: map[string]string{"memory.available": "8s"},
		MinimumReclaim:  map[string]string{"memory.available": "50Mi"},
	}
	h.pressure.Configure(settings, eviction.Policy{TransitionPeriod: 30 * time.Second, MaxPodGraceSeconds: 15, Period: 5 * time.Second})(c)
	c.Eviction.Signals = countingSignals{c.Eviction.Signals, h}
	c.Recorder = evictionRecorder{c.Recorder, h}
	if *details {
		c.Log = slog.New(slog.NewTextHandler(h.t.Output(), &slog.HandlerOptions{ReplaceAttr: h.replaceTime}))
	}
	c.Hooks.Status = func(*v1.Pod, *v1.PodStatus) { h.changed = true }
}

// replaceTime replaces the time of a log message by the virtual time.
func (h *resourceHistory) replaceTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && h.b != nil {
		return slog.String("at", h.sinceStart().String())
	}
	return a
}

// runFor runs the node step by step for d and checks the invariants after each step.
func (h *resourceHistory) runFor(d time.Duration) {
	h.t.Helper()
	h.snapshot, h.changed = h.b.Machine().Snapshot(), true
	h.machine.updateContainerCgroups()
	for end := h.b.Now().Add(d); h.b.Now().Before(end); {
		h.b.StepUntil(end)
		h.checkStep()
	}
}

// requireNoFault ends the test if an invariant was violated.
func (h *resourceHistory) requireNoFault() {
	h.t.Helper()
	if len(h.faultList) == 0 && !h.t.Failed() {
		return
	}
	h.t.Fatalf("seed %d: %s\n%s", h.seed, strings.Join(h.faultList, "\n"), h.done.String())
}

// noteAction stores an action for a reader of a failure.
func (h *resourceHistory) noteAction(format string, args ...any) {
	fmt.Fprintf(&h.done, "%10s  %s\n", h.sinceStart(), fmt.Sprintf(format, args...))
}

// takeAction does one thing at random. A quarter of the histories have no pressure, so that more pods compete for the
// allocatable resources.
func (h *resourceHistory) takeAction() {
	most := 24
	if h.seed%4 == 3 {
		most = 18
	}
	switch n := h.random.IntN(most); {
	case n < 5:
		h.addPod()
	case n < 7:
		h.deletePod()
	case n < 12:
		h.resizePod()
	case n < 13:
		h.updatePod()
	case n < 15:
		h.crashAgent()
	case n < 17:
		h.addFault()
	case n < 18:
		h.noteAction("the faults of the runtime end")
		h.faults.Clear()
		h.pressure.SetBlind(false)
	case n < 22:
		h.changeUsage()
	case n < 23:
		h.setSizes()
	default:
		h.killContainer()
	}
}

// randomPod returns a desired pod, or nil.
func (h *resourceHistory) randomPod() *v1.Pod {
	var names []string
	for name := range h.desired {
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return h.desired[names[h.random.IntN(len(names))]]
}

// applyPod applies a new or changed pod, to the file if it is a static pod.
func (h *resourceHistory) applyPod(p *v1.Pod) {
	h.desired[p.Name] = p
	if isStaticName(p.Name) {
		h.replaceFile()
		return
	}
	h.b.Apply(p)
}

// replaceFile writes all static pods to the file.
func (h *resourceHistory) replaceFile() {
	var pods []*v1.Pod
	for name, p := range h.desired {
		if isStaticName(name) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *v1.Pod) int { return strings.Compare(a.Name, b.Name) })
	require.NoError(h.t, h.files.Replace(pods))
}

// isStaticName reports whether the pod with this name comes from the file.
func isStaticName(name string) bool { return strings.HasPrefix(name, "static") }

// addPod adds a pod, if there are few.
func (h *resourceHistory) addPod() {
	if len(h.desired) >= 8 {
		h.deletePod()
		return
	}
	h.names++
	p := randomSizedPod(h.random, h.names)
	h.noteAction("add %s", describeSizes(p))
	h.applyPod(p)
}

func (h *resourceHistory) deletePod() {
	p := h.randomPod()
	if p == nil {
		return
	}
	h.noteAction("delete %s", p.Name)
	delete(h.desired, p.Name)
	if isStaticName(p.Name) {
		h.replaceFile()
		return
	}
	h.b.Delete(p.UID)
}

func (h *resourceHistory) resizePod() {
	p := h.randomPod()
	if p == nil {
		return
	}
	p = p.DeepCopy()
	p.Generation++
	changeSizes(h.random, p)
	h.noteAction("resize %s", describeSizes(p))
	h.applyPod(p)
}

// updatePod changes something else of a pod.
func (h *resourceHistory) updatePod() {
	p := h.randomPod()
	if p == nil || isStaticName(p.Name) {
		return
	}
	p = p.DeepCopy()
	p.Generation++
	p.Spec.TerminationGracePeriodSeconds = randomGrace(h.random)
	p.Labels = map[string]string{"generation": fmt.Sprint(p.Generation)}
	h.noteAction("update %s", p.Name)
	h.applyPod(p)
}

// crashAgent crashes the node after a few steps, and starts another one with the same checkpoints.
func (h *resourceHistory) crashAgent() {
	for range h.random.IntN(60) {
		h.b.Step()
		h.checkStep()
	}
	h.noteAction("crash")
	h.b.Crash()
	h.forgetForNextNode()
	switch h.random.IntN(4) {
	case 0:
		h.resizePod()
	case 1:
		h.deletePod()
	}
	h.b.Run(time.Duration(h.random.IntN(5000)) * time.Millisecond)
	h.openStores()
	h.b.Start()
	h.raiseSumsForNextNode()
}

// addFault makes a few calls of the runtime fail.
func (h *resourceHistory) addFault() {
	if h.random.IntN(6) == 0 {
		h.noteAction("the node cannot be measured")
		h.pressure.SetBlind(true)
		return
	}
	verbs := []string{faulty.UpdateContainer, faulty.UpdateContainer, faulty.CreateContainer, faulty.StartContainer, faulty.StopContainer, faulty.RunSandbox, faulty.PodStats, faulty.PodStatus, faulty.ListPods}
	rule := faulty.Rule{Verb: verbs[h.random.IntN(len(verbs))], Times: 1 + h.random.IntN(4)}
	switch h.random.IntN(3) {
	case 0:
		rule.Do = faulty.Fail
	case 1:
		rule.Do = faulty.FailDone
	default:
		rule.Latency = time.Duration(h.random.IntN(4000)) * time.Millisecond
	}
	h.noteAction("fault %+v", rule)
	_, err := h.faults.Add(rule)
	require.NoError(h.t, err)
}

// changeUsage changes the usage of a resource by something other than pods.
func (h *resourceHistory) changeUsage() {
	signals := []eviction.Signal{eviction.MemoryAvailable, eviction.MemoryAvailable, eviction.NodeFsAvailable, eviction.PIDAvailable}
	signal := signals[h.random.IntN(len(signals))]
	most := map[eviction.Signal]int64{eviction.MemoryAvailable: 2000 * mebi, eviction.NodeFsAvailable: 10_000 * mebi, eviction.PIDAvailable: 40}[signal]
	amount := int64(0)
	if h.random.IntN(3) > 0 {
		amount = h.random.Int64N(most + 1)
	}
	h.noteAction("something uses %d of %s", amount, signal)
	h.pressure.SetOther(signal, amount)
	if signal == eviction.NodeFsAvailable {
		h.pressure.SetOther(eviction.ImageFsAvailable, amount)
	}
}

// setSizes sets the sizes of a volume and of logs.
func (h *resourceHistory) setSizes() {
	p := h.randomPod()
	if p == nil {
		return
	}
	bytes := uint64(h.random.IntN(3) * h.random.IntN(800) * mebi)
	h.noteAction("files of %s have %d MiB", p.Name, bytes/mebi)
	h.pressure.SetVolume(p.Name, "data", bytes)
	h.pressure.SetLogs(p.Name, "a", bytes/2)
}

// killContainer ends a container or a sandbox behind the node's back.
func (h *resourceHistory) killContainer() {
	for _, p := range h.b.Machine().Snapshot() {
		for _, c := range p.Containers {
			if c.State == runtime.StateRunning && h.random.IntN(3) == 0 {
				h.noteAction("kill %s of %s", c.Name, p.Name)
				require.NoError(h.t, h.b.Machine().ExitContainer(c.ID, 137))
				require.NoError(h.t, h.b.Machine().SetReason(c.ID, "OOMKilled"))
			}
		}
		for _, s := range p.Sandboxes {
			if s.Ready && h.random.IntN(8) == 0 {
				h.noteAction("kill the sandbox of %s", p.Name)
				require.NoError(h.t, h.b.Machine().KillSandbox(s.ID))
			}
		}
	}
}

// endTrouble ends faults and pressure.
func (h *resourceHistory) endTrouble() {
	h.noteAction("all trouble ends")
	h.faults.Clear()
	h.pressure.SetBlind(false)
	for _, signal := range []eviction.Signal{eviction.MemoryAvailable, eviction.NodeFsAvailable, eviction.ImageFsAvailable, eviction.PIDAvailable} {
		h.pressure.SetOther(signal, 0)
	}
	for name := range h.desired {
		h.pressure.SetVolume(name, "data", 0)
		h.pressure.SetLogs(name, "a", 0)
	}
}

// valuesOf returns the values that a container has in the runtime.
func (h *resourceHistory) valuesOf(id string) values {
	r, _ := h.b.Machine().Resources(id)
	return containerValues(r)
}

// memoryInUse returns the memory that the containers of a pod use.
func (h *resourceHistory) memoryInUse(uid types.UID) (sum int64, err error) {
	stats, err := h.b.Machine().PodStats(h.t.Context(), uid)
	if err != nil {
		return 0, err
	}
	for _, c := range stats.Containers {
		sum += int64(*c.Memory.WorkingSetBytes)
	}
	return sum, nil
}
