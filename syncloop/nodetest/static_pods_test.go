package nodetest_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// atMostOne counts how many UIDs run under the full name and fails for more
// than one (I11).
func atMostOne(t *testing.T, b *nodetest.Simulation) (uid types.UID) {
	t.Helper()
	for _, p := range b.Machine().Snapshot() {
		for _, c := range p.Containers {
			if c.State == runtime.StateRunning {
				require.Empty(t, uid, "two pods of one full name run at %s", b.Now())
				uid = p.UID
			}
		}
	}
	return uid
}

// TestStatic_F17_I11_RewrittenThreeHundredTimes: the manifest of a static pod
// changes ten times a second while the first version still terminates. Never
// do two of them run, and in the end the last one does.
func TestStatic_F17_I11_RewrittenThreeHundredTimes(t *testing.T) {
	files := source.NewHandle()
	b := nodetest.New(t, nodetest.Config{Seed: 3, Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
	const last = 300
	for version := 1; version <= last; version++ {
		require.NoError(t, files.Replace([]*v1.Pod{staticPod(version, 20)}))
		for until := b.Now().Add(100 * time.Millisecond); b.Now().Before(until); {
			b.StepUntil(until)
			atMostOne(t, b)
		}
	}
	b.Run(time.Minute)
	assert.Equal(t, types.UID("static-300"), atMostOne(t, b))
	b.Run(time.Minute)
	assert.Len(t, b.Machine().Snapshot(), 1, "nothing is left of the others")
	b.Stop()
}

// TestStatic_I12_HandOver: the successor starts the moment the containers of
// the one before have stopped, not at a poll.
func TestStatic_I12_HandOver(t *testing.T) {
	files := source.NewHandle()
	b := nodetest.New(t, nodetest.Config{Seed: 3, Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
	require.NoError(t, files.Replace([]*v1.Pod{staticPod(1, 7)}))
	b.Run(5 * time.Second)
	require.NoError(t, files.Replace([]*v1.Pod{staticPod(2, 7)}))
	b.Run(6999 * time.Millisecond)
	assert.Equal(t, types.UID("static-1"), atMostOne(t, b), "it has its grace")
	b.Run(time.Millisecond)
	assert.Equal(t, types.UID("static-2"), atMostOne(t, b))
	b.Stop()
}

// TestStatic_SameUID: a manifest with a UID of its own that leaves and comes
// back is a new incarnation under the old UID (F15).
func TestStatic_SameUID(t *testing.T) {
	files := source.NewHandle()
	b := nodetest.New(t, nodetest.Config{Seed: 3, Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
	for range 3 {
		require.NoError(t, files.Replace([]*v1.Pod{staticPod(1, 3)}))
		b.Run(time.Second)
		require.NoError(t, files.Replace(nil))
		b.Run(time.Second)
	}
	require.NoError(t, files.Replace([]*v1.Pod{staticPod(1, 3)}))
	b.Run(3 * time.Second)
	assert.Equal(t, types.UID("static-1"), atMostOne(t, b))
	b.Stop()
}

// A pod of a handle goes through the same life as one that is applied: its fields have the same
// defaults, such as the grace period, the restart policy, and the period of a probe.
func TestStatic_PodsOfAHandleAreDefaultedAsThoseOfApply(t *testing.T) {
	life := func(apply func(b *nodetest.Simulation, files *source.Handle, pod *v1.Pod), remove func(b *nodetest.Simulation, files *source.Handle)) string {
		files := source.NewHandle()
		b := nodetest.New(t, nodetest.Config{Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
		p := newPod("web", []string{"sh", "-c", "trap '' TERM; sleep 60"})
		p.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}}
		p.Annotations = map[string]string{"memory.podkeel.dev/c0.readiness": "fail for=15s; ok"}
		apply(b, files, p)
		b.Run(90 * time.Second)
		remove(b, files)
		b.Run(time.Minute)
		b.Stop()
		return b.Transcript()
	}
	applied := life(func(b *nodetest.Simulation, _ *source.Handle, p *v1.Pod) { b.Apply(p) },
		func(b *nodetest.Simulation, _ *source.Handle) { b.Delete("uid-web") })
	handed := life(func(_ *nodetest.Simulation, files *source.Handle, p *v1.Pod) { require.NoError(t, files.Apply(p)) },
		func(_ *nodetest.Simulation, files *source.Handle) { files.Delete("uid-web") })
	assert.Contains(t, applied, "2m0s  StopContainer c0 grace=30s\n")
	assert.Equal(t, applied, handed)
}

// TestSuccessor_DeletedBeforeItsTurn: a waiting pod of a used UID is deleted, which does not affect the
// pod that still terminates.
func TestSuccessor_DeletedBeforeItsTurn(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	old := newPod("web", []string{"serve"})
	old.Spec.InitContainers = []v1.Container{{Name: "init", Image: "init:1", Command: []string{"sleep", "1"}}}
	b.Apply(old)
	b.Run(5 * time.Second)
	b.Delete(old.UID)
	again := newPod("web", []string{"serve"}, []string{"serve"})
	b.Apply(again)
	deleted := again.DeepCopy()
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &metav1.Time{Time: b.Now()}, new(int64)
	b.Apply(deleted)
	b.Run(time.Minute) // The simulation checks every status on the way.
	assert.Empty(t, runningContainers(b.Machine()))
	b.Stop()
}

// TestStatic_I11_ReplacedWhileItIsAdopted: after a restart of the agent a static
// pod is replaced, at each step of its adoption. It gets its grace, and the next
// one does not start beside it.
func TestStatic_I11_ReplacedWhileItIsAdopted(t *testing.T) {
	for step := range 80 {
		files := source.NewHandle()
		b := nodetest.New(t, nodetest.Config{Seed: uint64(step), Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
		require.NoError(t, files.Replace([]*v1.Pod{staticPod(1, 7)}))
		b.Run(5 * time.Second)
		b.Crash()
		b.Start()
		for range step {
			b.Step()
		}
		replaced := b.Now()
		require.NoError(t, files.Replace([]*v1.Pod{staticPod(2, 7)}))
		for until := replaced.Add(20 * time.Second); b.Now().Before(until); {
			b.StepUntil(until)
			atMostOne(t, b)
		}
		assert.Equal(t, types.UID("static-2"), atMostOne(t, b), "step %d", step)
		b.Stop()
	}
}

// broken is a source that delivers pods and reports a fault.
type broken []*v1.Pod

func (s broken) Run(_ context.Context, sink source.Sink) error {
	sink.Set(source.Snapshot{Pods: s, Incomplete: true})
	return nil
}

// TestStatic_I11_F60_FirstListingOmits: the first list of the runtime that an agent
// sees lacks the static pod that runs, so that another of its name is begun. As soon
// as the first is listed it ends, though no source has removed it: at most one keeps
// running. If it is desired too it waits and starts later.
func TestStatic_I11_F60_FirstListingOmits(t *testing.T) {
	former, other := staticPod(1, 7), staticPod(2, 7)
	former.CreationTimestamp = metav1.Time{Time: nodetest.Epoch} // The other pod has no creation time and counts as older.
	for name, sources := range map[string]map[string]source.Source{
		"replaced, and a file is broken": {"file": broken{other}, "http": source.NewHandle()},
		"desired by two sources":         {"file": broken{former}, "http": broken{other}},
	} {
		t.Run(name, func(t *testing.T) {
			faults, err := faulty.New(faulty.Config{})
			require.NoError(t, err)
			now := map[string]source.Source{"file": broken{former}, "http": source.NewHandle()}
			b := nodetest.New(t, nodetest.Config{Seed: 3, Wrap: faults.Wrap, Node: node.Config{Pods: node.PodsConfig{Sources: now}}})
			b.Run(5 * time.Second)
			require.Equal(t, types.UID("static-1"), atMostOne(t, b))
			b.Crash()
			_, err = faults.Add(faulty.Rule{Verb: faulty.ListPods, Pod: "static", Times: 1, Do: faulty.Omit})
			require.NoError(t, err)
			maps.Copy(now, sources)
			b.Start()
			b.Run(time.Second)
			assert.Len(t, strings.Fields(runningContainers(b.Machine())["static/c0"]), 2, "the node could not know")
			b.Run(time.Minute)
			assert.Equal(t, types.UID("static-2"), atMostOne(t, b))
			b.Run(10 * time.Minute)
			assert.Equal(t, types.UID("static-2"), atMostOne(t, b))
			_, err = b.Node().Evict("static-2", node.Eviction{Force: true})
			require.NoError(t, err)
			b.Run(time.Minute)
			want := types.UID("")
			if name == "desired by two sources" {
				want = "static-1"
			}
			assert.Equal(t, want, atMostOne(t, b))
			b.Stop()
		})
	}
}

// TestStatic_I11_F60_LateSource: after a restart of the agent two sources deliver their pods late. Until then the
// list of the runtime lacks the static pod that runs, so the other pod with its full name starts. Another pod was
// forgotten before, so no incarnation of this process has number 1. The first pod is killed as soon as it is
// listed, and starts when the name is free.
func TestStatic_I11_F60_LateSource(t *testing.T) {
	former, other := staticPod(1, 7), staticPod(2, 7)
	faults, err := faulty.New(faulty.Config{})
	require.NoError(t, err)
	sources := map[string]source.Source{"file": broken{former}, "http": source.NewHandle()}
	b := nodetest.New(t, nodetest.Config{Seed: 3, Wrap: faults.Wrap, Node: node.Config{Pods: node.PodsConfig{Sources: sources}}})
	b.Run(5 * time.Second)
	require.Equal(t, types.UID("static-1"), atMostOne(t, b))
	b.Crash()
	list, err := faults.Add(faulty.Rule{Verb: faulty.ListPods, Pod: "static", Do: faulty.Omit})
	require.NoError(t, err)
	file, http := source.NewHandle(), source.NewHandle()
	sources["file"], sources["http"] = file, http
	b.Start()
	require.NoError(t, http.Apply(newPod("short", []string{"serve"})))
	b.Run(3 * time.Second)
	http.Delete("uid-short")
	b.Run(10 * time.Second)
	require.NoError(t, http.Apply(other))
	b.Run(time.Second)
	require.NoError(t, file.Apply(former))
	b.Run(time.Second)
	require.Len(t, strings.Fields(runningContainers(b.Machine())["static/c0"]), 2, "the node could not know")
	list()
	b.Run(time.Minute)
	assert.Equal(t, types.UID("static-2"), atMostOne(t, b))
	http.Delete("static-2")
	b.Run(time.Minute)
	assert.Equal(t, types.UID("static-1"), atMostOne(t, b))
	b.Stop()
}
