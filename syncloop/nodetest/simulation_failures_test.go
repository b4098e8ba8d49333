package nodetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// Each failure is at the line of the test that made the call, wherever the fault was found: in
// the call itself, in a coroutine of the node, or in a check of the harness.
func TestSimulation_AFailureNamesTheLineOfTheTest(t *testing.T) {
	doubled := nodetest.Config{Runtime: func(clk clock.Clock) runtime.Runtime {
		return doubling{memory.New(memory.Config{Clock: clk})}
	}}
	for name, story := range map[string]func(t *tb){
		"the configuration": func(t *tb) {
			t.want = nextLine()
			nodetest.New(t, nodetest.Config{Node: node.Config{Scheduling: node.SchedulingConfig{MaxPods: -1}}})
		},
		"a pod that the node does not take": func(t *tb) {
			b := nodetest.New(t, nodetest.Config{})
			t.want = nextLine()
			b.Apply(&v1.Pod{})
		},
		"a broken invariant": func(t *tb) {
			b := nodetest.New(t, doubled)
			b.Apply(newPod("web", []string{"serve"}))
			t.want = nextLine()
			b.Run(time.Second)
		},
		"a broken invariant in a step": func(t *tb) {
			b := nodetest.New(t, doubled)
			b.Apply(newPod("web", []string{"serve"}))
			t.want = nextLine()
			b.RunUntil(func() bool { return b.Now().After(nodetest.Epoch) })
		},
		"a condition that does not come to hold": func(t *tb) {
			b := nodetest.New(t, nodetest.Config{})
			t.want = nextLine()
			b.RunUntil(func() bool { return false })
		},
		"a runtime that uses a timer": func(t *tb) {
			b := nodetest.New(t, nodetest.Config{Runtime: func(clk clock.Clock) runtime.Runtime { return timing{newTiny(clk), clk} }})
			b.Apply(newPod("web", []string{"serve"}))
			t.want = nextLine()
			b.Run(time.Second)
		},
		"a status": func(t *tb) {
			b := nodetest.New(t, nodetest.Config{})
			t.want = nextLine()
			b.AssertStatus("web", "gone")
		},
		"a phase": func(t *tb) {
			b := nodetest.New(t, nodetest.Config{})
			t.want = nextLine()
			b.AssertPhase("web", v1.PodFailed)
		},
		"a history": func(t *tb) {
			b := nodetest.New(t, nodetest.Config{})
			t.want = nextLine()
			b.History("web")
		},
		"a UID": func(t *tb) {
			b := nodetest.New(t, nodetest.Config{})
			t.want = nextLine()
			b.Delete("web")
		},
		"a shared object that was modified, found at the end": func(t *tb) {
			b := nodetest.New(t, nodetest.Config{})
			b.Apply(newPod("web", []string{"serve"}))
			b.Run(time.Second)
			b.Machine().SetScript(memory.Selector{Name: "wbe"}, memory.Script{Runs: []memory.Run{{}}})
			t.want = nextLine()
			b.Stop()
		},
		"time after the end": func(t *tb) {
			b := nodetest.New(t, nodetest.Config{})
			b.Stop()
			t.want = nextLine()
			b.Run(time.Second)
		},
	} {
		f := runStory(story)
		assert.True(t, f.failed, name)
		assert.Equal(t, f.want, f.at, "%s: %s", name, f.said)
	}
}

// doubling is a runtime in which each container that is started runs twice.
type doubling struct{ runtime.Runtime }

func (d doubling) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	st, err := d.Runtime.PodStatus(ctx, uid)
	if st != nil && len(st.Containers) == 1 && st.Containers[0].State == runtime.StateRunning {
		twice := *st
		twice.Containers = append(st.Containers[:1:1], st.Containers[0])
		return &twice, err
	}
	return st, err
}

func TestSimulation_AScriptForAContainerThatDoesNotExist(t *testing.T) {
	scripted := func(name, key string) *v1.Pod {
		p := newPod(name, []string{"serve"}, []string{"serve"})
		p.Annotations = map[string]string{memory.AnnotationPrefix + key: "fail"}
		return p
	}
	fails := func(story func(b *nodetest.Simulation)) string {
		return runStory(func(t *tb) { story(nodetest.New(t, nodetest.Config{})) }).said
	}
	assert.Equal(t, "nodetest: Apply: pod default/web: annotation memory.podkeel.dev/web is for a container that the pod does not have: its containers are c0, c1",
		fails(func(b *nodetest.Simulation) { b.Apply(scripted("web", "web")) }))
	assert.Equal(t, "nodetest: Apply: pod default/web: annotation memory.podkeel.dev/c2.liveness is for a container that the pod does not have: its containers are c0, c1",
		fails(func(b *nodetest.Simulation) { b.Apply(scripted("web", "c2.liveness")) }))
	assert.Empty(t, fails(func(b *nodetest.Simulation) { b.Apply(scripted("web", "c1.liveness")) }))

	set := func(to memory.Selector) string {
		return fails(func(b *nodetest.Simulation) {
			b.Apply(newPod("web", []string{"serve"}))
			b.Machine().SetScript(to, memory.Script{Runs: []memory.Run{{Forever: true}}})
			b.Stop()
		})
	}
	assert.Equal(t, "nodetest: SetScript: no pod has a container of {UID: Namespace: Name:web Container:c1}", set(memory.Selector{Name: "web", Container: "c1"}))
	assert.Equal(t, "nodetest: SetScript: no pod has a container of {UID: Namespace: Name:wbe Container:}", set(memory.Selector{Name: "wbe"}))
	assert.Empty(t, set(memory.Selector{Name: "web", Container: "c0"}))
	assert.Empty(t, set(memory.Selector{UID: "uid-web"}))

	files := source.NewHandle()
	require.NoError(t, files.Apply(scripted("static", "web")))
	assert.Equal(t, "nodetest: at 0s: pod default/static: annotation memory.podkeel.dev/web is for a container that the pod does not have: its containers are c0, c1",
		runStory(func(t *tb) {
			b := nodetest.New(t, nodetest.Config{Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
			b.Run(time.Second)
			b.Stop()
		}).said)
}

func TestSimulation_DeleteOfAnUnknownUIDNamesThoseThereAre(t *testing.T) {
	f := runStory(func(t *tb) {
		b := nodetest.New(t, nodetest.Config{})
		b.Apply(newPod("web", []string{"serve"}))
		b.Apply(newPod("job", []string{"serve"}))
		b.Delete("uid-web")
		b.Delete("uid-web") // It is known, and deleting it again does nothing.
		b.Delete("web")
	})
	assert.Equal(t, `nodetest: Delete: no pod has the UID "web": the UIDs are "uid-job" (default/job), "uid-web" (default/web)`, f.said)
	f = runStory(func(t *tb) { nodetest.New(t, nodetest.Config{}).Delete("web") })
	assert.Equal(t, `nodetest: Delete: no pod has the UID "web": no pod was applied`, f.said)
	nodetest.Live(t, nodetest.Config{}, func(w nodetest.Harness) {
		w.Apply(newPod("web", []string{"serve"}))
		w.Delete("uid-web")
	})
}
