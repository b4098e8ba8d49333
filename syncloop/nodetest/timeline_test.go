package nodetest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// timelinePod returns a pod whose timeline has every element: init containers, crashes, a back-off, and probes, one of them
// failing for a while.
func timelinePod() *v1.Pod {
	always := v1.ContainerRestartPolicyAlways
	pod := examplePod("web", "serve")
	pod.Spec.InitContainers = []v1.Container{{Name: "setup", Image: "setup:1"}, {Name: "proxy", Image: "proxy:1", RestartPolicy: &always}}
	pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"bye"}}}}
	pod.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"ready"}}}, PeriodSeconds: 2}
	pod.Annotations = map[string]string{
		memory.AnnotationPrefix + "setup":        "run=2s exit=0",
		memory.AnnotationPrefix + "c0":           "run=4s exit=1 message=boom; run=3s exit=1; run=forever start-delay=1s exit=0",
		memory.AnnotationPrefix + "c0.pre-stop":  "ok takes=2s",
		memory.AnnotationPrefix + "c0.readiness": "fail for=3s message=refused; ok",
	}
	return pod
}

// TestTimelines: what a node records of a pod, drawn, over a crash and to its end.
func TestTimelines(t *testing.T) {
	s := nodetest.New(t, nodetest.Config{Timelines: true})
	s.Apply(timelinePod())
	s.Run(35 * time.Second)
	s.Crash()
	s.Run(5 * time.Second)
	s.Start()
	s.Run(10 * time.Second)
	s.Delete("uid-web")
	s.Run(40 * time.Second)
	s.Stop()
	all := s.Timelines()
	require.Len(t, all, 1)
	assert.Equal(t, wantDrawing, all[0].String())
}

// wantDrawing is the whole life of the pod.
const wantDrawing = `default/web 52.1s
35s: the agent crashes
40s: the agent starts
worker (worker)
  0s..35s plain "syncing"
  9s failed "SyncPod" row=1: failed: podsync: CrashLoopBackOff: back-off 10s restarting failed container=c0 pod=web_default(uid-web), next try at 2000-01-01T00:00:19Z
  40s..50s plain "syncing"
  50s..52s ending "terminating"
  52s succeeded "finished"
sandbox (sandbox)
  0s working "CreatePodSandbox": no sandbox
  0s..52s running "ready"
  52s working "KillPodSandbox"
setup (init container)
  0s..2s succeeded "exit 0": first run; exit code 0 Completed
setup actions (actions)
  0s working "StartContainer": sandbox is new
proxy (sidecar)
  0s..2s waiting "PodInitializing"
  2s..52s failed "exit 143": first run; exit code 143 Error
proxy actions (actions)
  2s working "StartContainer": previous init container is done
  50s..52s working "KillContainer": the pod ends
c0 (container)
  0s..2s waiting "PodInitializing"
  2s..6s failed "exit 1": first run; exit code 1 Error; boom
  6s..9s failed "exit 1": restart 1; exit code 1 Error
  9s..20s backoff "CrashLoopBackOff": back-off 10s restarting failed container=c0 pod=web_default(uid-web), next try at 2000-01-01T00:00:19Z; not started before 10s have passed
  20s..52s succeeded "exit 0": restart 2; exit code 0 Completed
c0 actions (actions)
  2s working "StartContainer": has no record
  6s working "StartContainer": has exited
  19s..20s working "StartContainer": has exited
  50s..52s working "RunPreStopHook"
  50s..52s working "KillContainer" row=1: the pod ends
c0 readiness (probe)
  2s..4s failing "fails ×2": refused
  6s..8s failing "fails ×2": refused
  20s..22s failing "fails ×2": refused
  24s..34s passing "passes ×6"
  40s..52s passing "passes ×7"
status (status)
  0s..2s waiting "0/2 Init:0/2": phase Pending
  2s..6s running "1/2 Running": phase Running
  6s..9s running "1/2 Running, 1 restart": phase Running
  9s..20s backoff "1/2 CrashLoopBackOff, 1 restart": phase Running
  20s..24s running "1/2 Running, 2 restarts": phase Running
  24s..40s running "2/2 Running, 2 restarts": phase Running
  40s..50s running "2/2 Running, 2 restarts": phase Running
  50s..52s ending "2/2 Terminating, 2 restarts": phase Running
  52s..52.1s succeeded "0/2 Completed, 2 restarts": phase Succeeded
events (events)
  0s plain "Pulling, Pulled and 2 more": Pulling: Pulling image "setup:1"; Pulled: Successfully pulled image "setup:1" in 0s (0s including waiting). Image size: 1048576 bytes.; Created: Container setup created; Started: Container setup started
  2s warning "Pulling, Pulled and 7 more": Pulling: Pulling image "proxy:1"; Pulled: Successfully pulled image "proxy:1" in 0s (0s including waiting). Image size: 1048576 bytes.; Created: Container proxy created; Started: Container proxy started; Pulling: Pulling image "web:1"; Pulled: Successfully pulled image "web:1" in 0s (0s including waiting). Image size: 1048576 bytes.; Created: Container c0 created; Started: Container c0 started; Unhealthy: Readiness probe of container c0 failed: refused
  4s warning "Unhealthy": Readiness probe of container c0 failed: refused
  6s warning "Unhealthy, Pulled and 3 more": Unhealthy: Readiness probe of container c0 could not be made: container b8cdd163fffb6b3bdf2f1da7fbfb22e0 does not run: wrong state; Pulled: Container image "web:1" already present on machine; Created: Container c0 created; Started: Container c0 started; Unhealthy: Readiness probe of container c0 failed: refused
  8s warning "Unhealthy": Readiness probe of container c0 failed: refused
  9s warning "BackOff": Back-off restarting failed container c0 in pod web_default, next try in 10s
  19s plain "Pulled, Created": Pulled: Container image "web:1" already present on machine; Created: Container c0 created
  20s warning "Started, Unhealthy": Started: Container c0 started; Unhealthy: Readiness probe of container c0 failed: refused
  22s warning "Unhealthy": Readiness probe of container c0 failed: refused
  50s plain "Killing, Killing": Killing: Stopping container c0: the pod ends; Killing: Stopping container proxy: the pod ends
`

// TestTimelines_OnlyOnRequest: without a request no timeline is recorded, but the test's own Timeline
// hook is called.
func TestTimelines_OnlyOnRequest(t *testing.T) {
	own := 0
	s := nodetest.New(t, nodetest.Config{Node: node.Config{Hooks: node.Hooks{Timeline: func(types.UID, timeline.Record) { own++ }}}})
	s.Apply(examplePod("job", "sleep", "3"))
	s.Run(time.Second)
	s.Stop()
	assert.Empty(t, s.Timelines())
	assert.NotZero(t, own)

	first := nodetest.New(t, nodetest.Config{Timelines: true, Node: node.Config{Hooks: node.Hooks{Timeline: func(types.UID, timeline.Record) { own++ }}}})
	before := own
	first.Apply(examplePod("job", "sleep", "3"))
	first.Run(time.Second)
	first.Stop()
	assert.Len(t, first.Timelines(), 1)
	assert.Greater(t, own, before)
}

// TestTimelines_Saved: a test that fails saves a drawing of all nodes if -timeline says where, and a
// test that passes saves none.
func TestTimelines_Saved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drawings")
	require.NoError(t, flag.Set("timeline", dir))
	defer func() { require.NoError(t, flag.Set("timeline", "")) }()
	for _, fails := range []bool{false, true} {
		fake := &failing{TB: t, name: "TestIt/<a>"}
		s := nodetest.New(fake, nodetest.Config{Node: node.Config{Name: "edge"}})
		other := s.AddNode(nodetest.Config{Node: node.Config{Name: "core"}})
		s.Apply(examplePod("web", "serve"))
		other.Apply(examplePod("db", "serve"))
		s.Run(time.Second)
		fake.failed = fails
		other.Stop()
		s.Stop()
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		if !fails {
			assert.Empty(t, names)
			continue
		}
		require.Equal(t, []string{filepath.Join(dir, "TestIt__a_.html")}, names)
		text, err := os.ReadFile(names[0])
		require.NoError(t, err)
		for _, want := range []string{"edge: default/web", "core: default/db", "<title>TestIt/&lt;a&gt;</title>"} {
			assert.Contains(t, string(text), want)
		}
		assert.Contains(t, fake.logged, names[0])
	}
}

// failing is a testing.TB that can have failed.
type failing struct {
	testing.TB
	name   string
	failed bool
	logged string
}

func (f *failing) Failed() bool            { return f.failed }
func (f *failing) Name() string            { return f.name }
func (f *failing) Helper()                 {}
func (f *failing) Logf(s string, a ...any) { f.logged += fmt.Sprintf(s, a...) }
func (f *failing) Cleanup(func())          {}
