package nodetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestOrphan_KC15_StopsAsItsPodAskedFor: a manifest that vanishes while the agent
// is down leaves a pod that no source has. Its records show how to stop it: its
// hooks, its sidecars last, and its own grace.
func TestOrphan_KC15_StopsAsItsPodAskedFor(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Pods: node.PodsConfig{OrphanGrace: -1}}})
	b.Apply(decodePod(t, `
metadata:
  name: web
  annotations:
    memory.podkeel.dev/web: "run=forever ignore-term"
    memory.podkeel.dev/web.pre-stop: "ok takes=4s"
spec:
  terminationGracePeriodSeconds: 15
  initContainers:
  - {name: mesh, image: mesh:1, restartPolicy: Always}
  containers:
  - name: web
    image: web:1
    lifecycle: {preStop: {exec: {command: [bye]}}}
`))
	b.Run(10 * time.Second)
	b.Crash()
	b.Delete("web")
	b.Run(5 * time.Second)
	b.Start()
	b.Run(time.Minute)
	b.Stop()
	_, after, _ := strings.Cut(b.Transcript(), "| 2/2 Running restarts=0\n")
	assert.Equal(t, `     15.1s  ┌ event Killing: Stopping container mesh: the pod is not desired
     15.1s  └ event Killing: Stopping container web: the pod is not desired
     19.1s  Hook pre-stop web
     30.1s  ┌ StopContainer mesh grace=2s
     30.1s  └ StopContainer web grace=11s
     30.1s  StopSandbox
     30.2s  RemoveSandbox
`, after)
}

// restarted is a node that starts while pods of the source "file" from an earlier process still run. The source
// delivers nothing.
type restarted struct {
	*nodetest.Simulation
	files *source.Handle
	began time.Time
	ids   []string // of the containers that there were
}

func restartNode(t *testing.T, config node.Config, pods ...*v1.Pod) *restarted {
	t.Helper()
	files := source.NewHandle()
	sources := map[string]source.Source{"file": files}
	config.Pods.Sources = sources
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config})
	require.NoError(t, files.Replace(pods))
	b.Run(20 * time.Second)
	r := &restarted{Simulation: b, files: source.NewHandle()}
	r.ids = r.runningIDs()
	b.Crash()
	b.Run(5 * time.Second)
	sources["file"] = r.files
	require.NoError(t, r.files.Replace(nil))
	r.began = b.Now()
	b.Start()
	return r
}

// runningIDs returns the IDs of the running containers.
func (r *restarted) runningIDs() (ids []string) {
	for _, p := range r.Machine().Snapshot() {
		for _, c := range p.Containers {
			if c.State == runtime.StateRunning {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}

// runUntilAfter runs the node until d after its start.
func (r *restarted) runUntilAfter(d time.Duration) { r.Run(r.began.Add(d).Sub(r.Now())) }

// etcdPod returns a static pod that exits immediately when it is stopped.
func etcdPod() *v1.Pod {
	p := newPod("etcd", []string{"serve"})
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 2379, HostPort: 2379}}
	return p
}

// TestOrphanGrace_ManifestsThatComeLate: the pod goes on untouched, in the same
// containers.
func TestOrphanGrace_ManifestsThatComeLate(t *testing.T) {
	r := restartNode(t, node.Config{}, etcdPod())
	r.runUntilAfter(10 * time.Second)
	assert.Equal(t, r.ids, r.runningIDs())
	require.NoError(t, r.files.Apply(etcdPod()))
	r.runUntilAfter(5 * time.Minute)
	assert.Equal(t, r.ids, r.runningIDs())
	_, transcript, _ := strings.Cut(r.Transcript(), "| 1/1 Running restarts=0\n")
	assert.Equal(t, `     25.1s  event NotDesired: no source has named this pod of an earlier agent; the pod is killed at 2000-01-01T00:00:55Z unless a source names it, or earlier if another pod needs its name or a host port
`, transcript)
	assert.Equal(t, "Running ", podState(r.Simulation, "uid-etcd"))
	r.Stop()
}

// TestOrphanGrace_ManifestsThatNeverCome: the node ends the pod after 30 s, and its status
// announces that.
func TestOrphanGrace_ManifestsThatNeverCome(t *testing.T) {
	r := restartNode(t, node.Config{}, etcdPod())
	r.runUntilAfter(10 * time.Second)
	assert.Equal(t, "default/etcd is Running: an earlier agent started it, and no source has delivered it yet; it is terminated in 21s "+
		"unless one does, or at once if another pod needs its name or a host port", explanationSentence(t, r.Simulation, "uid-etcd"))
	require.Len(t, r.Node().Pods(), 1)
	p := r.Node().Pods()[0]
	assert.Equal(t, "0/1 NotDesired", node.Summarize(p, false).String())
	assert.Equal(t, "no source has delivered the pod yet; it is terminated at 2000-01-01T00:00:55Z unless one does", p.Status.Message)
	r.runUntilAfter(29 * time.Second)
	assert.Equal(t, r.ids, r.runningIDs())
	r.runUntilAfter(33 * time.Second)
	assert.Empty(t, r.runningIDs())
	r.runUntilAfter(time.Minute)
	assert.Empty(t, r.Machine().Snapshot())
	assert.Empty(t, r.Node().Pods())
	r.Stop()
}

// TestOrphanGrace_AnotherPodNeedsItsNameOrItsPort: it is ended at once.
func TestOrphanGrace_AnotherPodNeedsItsNameOrItsPort(t *testing.T) {
	for name, claimer := range map[string]func(*v1.Pod){
		"name": func(p *v1.Pod) { p.Spec.Containers[0].Ports = nil },
		"port": func(p *v1.Pod) { p.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			r := restartNode(t, node.Config{}, etcdPod())
			r.runUntilAfter(10 * time.Second)
			assert.Equal(t, r.ids, r.runningIDs())
			other := etcdPod()
			other.UID = "another"
			claimer(other)
			require.NoError(t, r.files.Apply(other))
			r.runUntilAfter(10100 * time.Millisecond)
			assert.NotContains(t, r.runningIDs(), r.ids[0])
			r.runUntilAfter(15 * time.Second)
			assert.Equal(t, "Running ", podState(r.Simulation, "another"))
			assert.Len(t, r.runningIDs(), 1)
			r.Stop()
		})
	}
}

// TestOrphanGrace_IsConfigurable: another length, and none.
func TestOrphanGrace_IsConfigurable(t *testing.T) {
	r := restartNode(t, node.Config{Pods: node.PodsConfig{OrphanGrace: 2 * time.Minute}}, etcdPod())
	r.runUntilAfter(119 * time.Second)
	assert.Equal(t, r.ids, r.runningIDs())
	r.runUntilAfter(124 * time.Second)
	assert.Empty(t, r.runningIDs())
	r.Stop()

	r = restartNode(t, node.Config{Pods: node.PodsConfig{OrphanGrace: -1}}, etcdPod())
	r.runUntilAfter(3 * time.Second)
	assert.Empty(t, r.runningIDs())
	r.Stop()
}

// TestOrphanGrace_WhatIsOverIsNotForgotten: a job whose manifest is late has done its
// work, and does not do it again.
func TestOrphanGrace_WhatIsOverIsNotForgotten(t *testing.T) {
	job := newPod("job", []string{"sleep", "2"})
	job.Spec.RestartPolicy = v1.RestartPolicyNever
	r := restartNode(t, node.Config{}, job)
	r.runUntilAfter(20 * time.Second)
	require.NoError(t, r.files.Apply(job.DeepCopy()))
	r.runUntilAfter(2 * time.Minute)
	assert.Equal(t, 1, strings.Count(r.Transcript(), "StartContainer"), r.Transcript())
	assert.Equal(t, "Succeeded ", podState(r.Simulation, "uid-job"))
	r.Stop()
}

// TestOrphanGrace_NotForWhatIsRemoved: a pod that a source has named, and names no
// longer, ends at once, also in the first seconds.
func TestOrphanGrace_NotForWhatIsRemoved(t *testing.T) {
	r := restartNode(t, node.Config{}, etcdPod())
	require.NoError(t, r.files.Apply(etcdPod()))
	r.runUntilAfter(5 * time.Second)
	assert.Equal(t, r.ids, r.runningIDs())
	r.files.Delete("uid-etcd")
	r.runUntilAfter(6 * time.Second)
	assert.Empty(t, r.runningIDs())
	r.Stop()
}

// TestOrphanGrace_ADrainEndsIt: a node that drains leaves nothing running.
func TestOrphanGrace_ADrainEndsIt(t *testing.T) {
	r := restartNode(t, node.Config{}, etcdPod())
	r.runUntilAfter(5 * time.Second)
	assert.Equal(t, r.ids, r.runningIDs())
	drained := false
	r.Go(func() { drained = r.Node().Drain(t.Context(), node.DrainOptions{}) == nil && len(r.runningIDs()) == 0 })
	r.runUntilAfter(7 * time.Second)
	assert.True(t, drained)
	r.Stop()
}
