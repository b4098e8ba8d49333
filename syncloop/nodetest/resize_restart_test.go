package nodetest_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// resizeRestarts is a simulation with 4 cpus whose nodes store allocated resources in a directory.
type resizeRestarts struct {
	*nodetest.Simulation
	t    *testing.T
	root string
	next *storedResources
}

// storedResources are the stored allocated resources of the newest node.
type storedResources struct{ *checkpoint.Resources }

func newResizeRestarts(t *testing.T) *resizeRestarts { return newResizeRestartsWith(t, 1, nil) }

// newResizeRestartsWith has a seed, and a wrapper of the runtime or nil.
func newResizeRestartsWith(t *testing.T, seed uint64, wrap func(inner runtime.Runtime, clk clock.Clock) runtime.Runtime) *resizeRestarts {
	r := &resizeRestarts{t: t, root: filepath.Join(t.TempDir(), "resources"), next: &storedResources{}}
	r.openStore()
	r.Simulation = nodetest.New(t, nodetest.Config{Seed: seed, Wrap: wrap, Node: node.Config{
		Pods:       node.PodsConfig{AllocatedResources: r.next},
		Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}},
	}})
	return r
}

// openStore opens the directory as the next agent does.
func (r *resizeRestarts) openStore() {
	r.t.Helper()
	store, err := checkpoint.NewResources(checkpoint.Config{Root: r.root, Log: slog.New(slog.NewTextHandler(r.t.Output(), nil))})
	require.NoError(r.t, err)
	r.next.Resources = store
}

// crashAndRestart crashes the agent, calls meanwhile, and starts the next agent.
func (r *resizeRestarts) crashAndRestart(meanwhile func()) {
	r.t.Helper()
	r.Crash()
	meanwhile()
	r.openStore()
	r.Start()
}

// runCheckingSums runs the simulation step by step. It fails if the allocated cpus of all pods are ever above the
// 4 cpus of the node.
func (r *resizeRestarts) runCheckingSums(d time.Duration, message string) {
	r.t.Helper()
	for end := r.Now().Add(d); r.Now().Before(end); {
		r.StepUntil(end)
		r.requireSumFits(message)
	}
}

// requireSumFits fails if the allocated cpus of all pods are above the 4 cpus of the node.
func (r *resizeRestarts) requireSumFits(message string) {
	r.t.Helper()
	var sum int64
	for _, p := range r.Node().Pods() {
		sum += p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
	}
	require.LessOrEqual(r.t, sum, int64(4000), message)
}

// nothingHappens is a time without an agent in which nothing happens.
func nothingHappens() {}

// RZ-14, RZ-46: a deferred resize survives a restart. The old resources stay allocated, and the resize is deferred
// again until there is room.
func TestResize_RZ14_DeferredSurvivesRestart(t *testing.T) {
	r := newResizeRestarts(t)
	r.Apply(sizedPod("web", "1", "200Mi", 1))
	r.Apply(sizedPod("other", "2", "200Mi", 1))
	r.Run(time.Second)
	r.Apply(sizedPod("web", "3", "200Mi", 2))
	r.Run(time.Second)
	const deferred = "allocated 1 has 1/200Mi shares 1024 memory 200; PodResizePending Deferred generation 2: the node has not enough cpu: requested 3, used 2, capacity 4"
	require.Equal(t, deferred, resizeOf(t, r.Simulation, "web"))
	before := runningContainers(r.Machine())
	r.crashAndRestart(nothingHappens)
	r.runCheckingSums(time.Minute, "after the restart")
	assert.Equal(t, deferred, resizeOf(t, r.Simulation, "web"))
	assert.Equal(t, before, runningContainers(r.Machine()))
	r.Delete("other")
	r.Run(time.Minute)
	assert.Equal(t, "allocated 3 has 3/200Mi shares 3072 memory 200", resizeOf(t, r.Simulation, "web"))
	r.crashAndRestart(nothingHappens)
	r.Run(time.Minute)
	assert.Equal(t, "allocated 3 has 3/200Mi shares 3072 memory 200", resizeOf(t, r.Simulation, "web"))
	r.Stop()
}

// RZ-14: the agent crashes at every step of a story in which one pod shrinks, another gets the released cpus, and
// a third requests too much. The allocated cpus are never above the node, whichever agent runs, and every pod has
// its final resources in the end.
func TestResize_RZ14_CrashAtEveryStep(t *testing.T) {
	story := func(r *resizeRestarts, stop func() bool) {
		run := func(d time.Duration) {
			for end := r.Now().Add(d); r.Now().Before(end) && !stop(); {
				r.StepUntil(end)
				r.requireSumFits("before the crash")
			}
		}
		r.Apply(sizedPod("big", "3", "200Mi", 1))
		r.Apply(sizedPod("small", "1", "200Mi", 1))
		run(time.Second)
		r.Apply(sizedPod("small", "2", "300Mi", 2))
		run(time.Second)
		r.Apply(sizedPod("big", "2", "200Mi", 2))
		run(time.Second)
	}
	whole := newResizeRestarts(t)
	story(whole, func() bool { return false })
	steps := whole.Steps()
	whole.Stop()
	t.Logf("%d steps", steps)
	for k := 1; k <= steps; k += crashStride(steps) {
		r := newResizeRestarts(t)
		story(r, func() bool { return r.Steps() >= k })
		before := runningContainers(r.Machine())
		r.crashAndRestart(nothingHappens)
		r.runCheckingSums(5*time.Minute, "after the crash")
		require.Equal(t, "allocated 2 has 2/200Mi shares 2048 memory 200", resizeOf(t, r.Simulation, "big"), "the crash at step %d", k)
		require.Equal(t, "allocated 2 has 2/300Mi shares 2048 memory 300", resizeOf(t, r.Simulation, "small"), "the crash at step %d", k)
		for name, id := range before {
			require.Equal(t, id, runningContainers(r.Machine())[name], "the crash at step %d", k)
		}
		r.Stop()
	}
}

// RZ-15: a damaged or missing file stops no container and does not stop the agent. The next agent uses the
// resources of the spec.
func TestResize_RZ15_DamagedFile(t *testing.T) {
	for name, damage := range map[string]func(file string) error{
		"damaged": func(file string) error { return os.WriteFile(file, []byte(`{"version":1,"uid":"w`), 0o600) },
		"missing": os.Remove,
	} {
		r := newResizeRestarts(t)
		r.Apply(sizedPod("web", "1", "200Mi", 1))
		r.Apply(sizedPod("other", "2", "200Mi", 1))
		r.Run(time.Second)
		r.Apply(sizedPod("web", "3", "200Mi", 2))
		r.Run(time.Second)
		before := runningContainers(r.Machine())
		r.crashAndRestart(func() { require.NoError(t, damage(filepath.Join(r.root, "web.json"))) })
		r.Run(time.Minute)
		assert.Equal(t, before, runningContainers(r.Machine()), name)
		assert.Equal(t, "allocated 3 has 3/200Mi shares 3072 memory 200", resizeOf(t, r.Simulation, "web"), name)
		r.Stop()
	}
}

// RZ-15, RZ-32: without a readable record the next agent takes the resources that the runtime reports for the actual ones,
// and with an older record too. A pod whose spec has not changed is neither updated nor restarted, whatever its policy is.
func TestResize_RZ15_RZ32_NothingChanged(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"complete": func(string) error { return nil },
		"missing":  os.Remove,
		"damaged":  func(file string) error { return os.WriteFile(file, []byte(`{"version":1,"uid":"w`), 0o600) },
		"older": func(file string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			older, _, _ := strings.Cut(string(text), `,"sum":`)
			return os.WriteFile(file, []byte(older+"}"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			faults, err := faulty.New(faulty.Config{})
			require.NoError(t, err)
			r := newResizeRestartsWith(t, 1, faults.Wrap)
			p := sizedPod("web", "1", "200Mi", 1)
			p.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceCPU, RestartPolicy: v1.RestartContainer}}
			r.Apply(p)
			r.Run(time.Second)
			before := runningContainers(r.Machine())
			_, err = faults.Add(faulty.Rule{Verb: faulty.UpdateContainer, Do: faulty.Fail}) // An update would be an event.
			require.NoError(t, err)
			r.crashAndRestart(func() { require.NoError(t, change(filepath.Join(r.root, "web.json"))) })
			r.Run(5 * time.Minute)
			assert.Equal(t, before, runningContainers(r.Machine()))
			assert.Equal(t, "allocated 1 has 1/200Mi shares 1024 memory 200", resizeOf(t, r.Simulation, "web"))
			for _, event := range []string{"event Resize", "StopContainer", "CreateContainer c attempt=1"} {
				assert.NotContains(t, r.Transcript(), event)
			}
			assert.Equal(t, "web.json", strings.TrimSpace(strings.ReplaceAll(filesIn(t, r.root), "web.json.damaged", "")), "the next agent has a record again")
			r.Stop()
		})
	}
}

// RZ-16: resources that changed while no agent ran are a resize, also for a pod that was never resized.
func TestResize_RZ16_ChangedWithoutAgent(t *testing.T) {
	r := newResizeRestarts(t)
	r.Apply(sizedPod("web", "1", "200Mi", 1))
	r.Apply(sizedPod("other", "2", "200Mi", 1))
	r.Run(time.Second)
	before := runningContainers(r.Machine())
	r.crashAndRestart(func() { r.Apply(sizedPod("web", "3", "200Mi", 2)) })
	r.runCheckingSums(time.Minute, "after the restart")
	assert.Contains(t, resizeOf(t, r.Simulation, "web"), "allocated 1 has 1/200Mi shares 1024 memory 200; PodResizePending Deferred generation 2")
	assert.Equal(t, before, runningContainers(r.Machine()))
	r.Stop()
}

// RZ-14: the file of a pod that is gone is removed.
func TestResize_RZ14_FileRemoved(t *testing.T) {
	r := newResizeRestarts(t)
	r.Apply(sizedPod("web", "1", "200Mi", 1))
	r.Apply(podOf("small", "run=forever"))
	r.Run(time.Second)
	assert.Equal(t, "web.json", filesIn(t, r.root), "a pod without requests and limits has no file")
	r.Delete("web")
	r.Run(5 * time.Minute)
	assert.Empty(t, filesIn(t, r.root))
	r.Stop()
}

// filesIn returns the names of the files in a directory, separated by spaces.
func filesIn(t *testing.T, dir string) string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
