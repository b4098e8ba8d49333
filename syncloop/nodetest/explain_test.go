package nodetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestExplain_P14_P15_CrashLoop: the page of a container that crashes.
func TestExplain_P14_P15_CrashLoop(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(newPod("web", []string{"sh", "-c", "sleep 2; exit 3"}))
	b.Run(10 * time.Second)
	e, ok := b.Node().ExplainByName("default", "web")
	require.True(t, ok)
	assert.Equal(t, `default/web is Running: container "c0" waits: CrashLoopBackOff, next try in 4s: it terminated with exit code 3 (Error)

pod       default/web
uid       uid-web
phase     Running
worker    sync, incarnation 1, idle
next      in 4s: crash-loop back-off of container "c0" is over

waits for
  container "c0" waits: CrashLoopBackOff, next try in 4s: it terminated with exit code 3 (Error)

containers
  container c0: waiting CrashLoopBackOff, restarts 1, next try in 4s, last end: exit code 3 (Error) 6s ago: back-off 10s restarting failed container=c0 pod=web_default(uid-web), next try at 2000-01-01T00:00:14Z

conditions
  Ready is False ContainersNotReady: containers with unready status: [c0]
  ContainersReady is False ContainersNotReady: containers with unready status: [c0]

history
   10s ago  status  Pending, 0/1 ContainerCreating
   10s ago  action  CreatePodSandbox web (no sandbox)
   10s ago  action  StartContainer c0 (sandbox is new)
   10s ago  status  Running, 1/1 Running
    8s ago  status  Running, 0/1 Error
    8s ago  action  StartContainer c0 (has exited)
    8s ago  status  Running, 1/1 Running, 1 restart
    6s ago  status  Running, 0/1 Error, 1 restart
    6s ago  status  Running, 0/1 CrashLoopBackOff, 1 restart
    6s ago  sync    SyncPod: podsync: CrashLoopBackOff: back-off 10s restarting failed container=c0 pod=web_default(uid-web), next try at 2000-01-01T00:00:14Z
`, e.String())
	assert.Equal(t, b.Now().Add(4*time.Second), e.Next.At)
	b.Run(time.Hour)
	e, _ = b.Node().Explain("uid-web")
	assert.Len(t, e.History, 32, "and no more, however long it goes on")
	b.Stop()
}

// TestExplain_P3_ImagePull: an image that cannot be had, and then can.
func TestExplain_P3_ImagePull(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Machine().FailPulls("web:1", errors.New("no such image"))
	b.Apply(newPod("web", []string{"serve"}))
	b.Run(time.Second)
	assert.Equal(t, `default/web is Pending: container "c0" waits: ErrImagePull, next try in 9s: image web:1: image cannot be pulled: no such image`, explanationSentence(t, b, "uid-web"))
	b.Run(20 * time.Second)
	e, _ := b.Node().Explain("uid-web")
	assert.Equal(t, `image pull back-off of container "c0" is over`, e.Next.Why)
	assert.Equal(t, 9*time.Second, e.Next.At.Sub(b.Now()))
	b.Machine().FailPulls("web:1", nil)
	b.Run(10 * time.Second)
	assert.Equal(t, `default/web is Running: its container runs and is ready`, explanationSentence(t, b, "uid-web"))
	e, _ = b.Node().Explain("uid-web")
	assert.Empty(t, e.Waits)
	assert.Equal(t, "the periodic resync", e.Next.Why)
	b.Stop()
}

// TestExplain_P21_Rejected: a pod that was refused says by whom and why.
func TestExplain_P21_Rejected(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Scheduling: node.SchedulingConfig{MaxPods: 1}}})
	b.Apply(newPod("first", []string{"serve"}))
	b.Run(time.Second)
	b.Apply(newPod("web", []string{"serve"}))
	b.Run(time.Second)
	assert.Equal(t, `default/web is Failed: the node has rejected it, and does not try again: OutOfpods: Pod was rejected: the node runs 1 pods and takes at most 1`, explanationSentence(t, b, "uid-web"))
	b.Delete("uid-web")
	b.Run(time.Minute)
	_, ok := b.Node().Explain("uid-web")
	assert.False(t, ok)
	b.Stop()
}

// TestExplain_P18_Terminating: a pod that ends, from the order to its end.
func TestExplain_P18_Terminating(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	web := staticPod(1, 20)
	b.Apply(web)
	b.Run(time.Second)
	b.Delete(web.UID)
	b.Run(5 * time.Second)
	assert.Equal(t, `default/static is terminating: it is no longer desired; container "c0" still runs, with a grace of 20s`, explanationSentence(t, b, web.UID))
	e, ok := b.Node().ExplainByName("default", "static")
	require.True(t, ok, "it is no longer desired, and there all the same")
	assert.Equal(t, "working", e.Doing)

	// The same UID is desired again.
	b.Apply(staticPod(1, 20))
	b.Run(time.Second)
	assert.Equal(t, `default/static is Pending: the earlier pod of its UID has to terminate first, and is terminating`, explanationSentence(t, b, web.UID))
	b.Run(time.Minute)
	assert.Equal(t, `default/static is Running: its container runs and is ready`, explanationSentence(t, b, web.UID))
	b.Delete(web.UID)
	b.Run(time.Minute)
	_, ok = b.Node().ExplainByName("default", "static")
	assert.False(t, ok, "the node has forgotten it")
	b.Stop()
}

// TestExplain_P10_P11_Probes: the explanation shows the message of the last
// check, and that a probe caused the restart of a container.
func TestExplain_P10_P11_Probes(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	web := newPod("web", []string{"serve"})
	web.Annotations = map[string]string{
		"memory.podkeel.dev/c0.startup": "fail for=5s; ok", "memory.podkeel.dev/c0.readiness": "fail for=12s; ok", "memory.podkeel.dev/c0.liveness": "ok for=1m; fail",
	}
	handler := v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}}
	c := &web.Spec.Containers[0]
	c.StartupProbe = &v1.Probe{ProbeHandler: handler, PeriodSeconds: 3}
	c.ReadinessProbe = &v1.Probe{ProbeHandler: handler, PeriodSeconds: 4}
	c.LivenessProbe = &v1.Probe{ProbeHandler: handler, PeriodSeconds: 10}
	b.Apply(web)
	b.Run(4 * time.Second)
	assert.Equal(t, `default/web is Running: container "c0" runs and has not started: its startup probe has not succeeded`, explanationSentence(t, b, web.UID))
	b.Run(5 * time.Second)
	assert.Equal(t, `default/web is Running: container "c0" runs and is not ready: its readiness probe does not succeed`, explanationSentence(t, b, web.UID))
	e, _ := b.Node().Explain(web.UID)
	require.Len(t, e.Probes, 3)
	assert.Contains(t, e.String(), `
probes
  liveness of c0 succeeds for 3s
  readiness of c0 fails for 3s
  startup of c0 succeeds for 3s
`)
	b.Run(10 * time.Second)
	assert.Equal(t, `default/web is Running: its container runs and is ready`, explanationSentence(t, b, web.UID))
	b.Run(70 * time.Second)
	e, _ = b.Node().Explain(web.UID)
	assert.Contains(t, e.String(), "liveness probe of c0 fails\n")
	assert.Contains(t, e.String(), "KillContainer c0 (liveness probe failed)\n")
	b.Stop()
}

// TestExplain_FullName: a static pod waits for the one before it.
func TestExplain_FullName(t *testing.T) {
	files := source.NewHandle()
	b := nodetest.New(t, nodetest.Config{Seed: 3, Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
	require.NoError(t, files.Replace([]*v1.Pod{staticPod(1, 7)}))
	b.Run(5 * time.Second)
	require.NoError(t, files.Replace([]*v1.Pod{staticPod(2, 7)}))
	b.Run(time.Second)
	e, ok := b.Node().ExplainByName("default", "static")
	require.True(t, ok)
	assert.Equal(t, types.UID("static-2"), e.UID)
	assert.Equal(t, `default/static is Pending: another pod of its full name has to terminate first`, e.Sentence)
	b.Stop()
}

// TestExplain_Node: causes outside of the pod.
func TestExplain_Node(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Sync: node.SyncConfig{MaxSyncs: 1}}})
	b.Apply(newPod("web", []string{"serve"}))
	assert.False(t, hasExplanation(b, "uid-web"), "nothing has happened yet")
	b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkMessage: "no CNI"})
	b.Run(time.Second)
	assert.Equal(t, `default/web is Pending: its sandbox has not been created yet, next try in 2s: podsync: runtime: network is not ready: no CNI`, explanationSentence(t, b, "uid-web"))
	b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true})
	slow := newPod("slow", []string{"serve"})
	slow.Annotations = map[string]string{"memory.podkeel.dev/c0": "start-delay=30s"}
	b.Apply(slow)
	b.Run(10 * time.Second)
	b.Apply(newPod("late", []string{"serve"}))
	b.Run(time.Second)
	assert.Equal(t, `default/late is Pending: the maximum number of pods is being synced`, explanationSentence(t, b, "uid-late"))
	assert.Equal(t, `default/slow is Pending: container "c0" waits: ContainerCreating: its image is being fetched, or it is being made`, explanationSentence(t, b, "uid-slow"))
	b.Stop()
}

func hasExplanation(b *nodetest.Simulation, uid types.UID) bool {
	_, ok := b.Node().Explain(uid)
	return ok
}
