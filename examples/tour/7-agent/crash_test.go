package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/node/statedir"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestCrash checks the table of the README, except its row of desired pods: what the next agent knows after a crash,
// without and with a state directory.
// The runtime outlives both agents. The crash is at 39 s. At this time the pod crash waits for its restart at 1m14s, the
// pod ready is ready although its next probe fails, the hook of the pod removed runs, and no records of lost-job are left.
func TestCrash(t *testing.T) {
	for _, tc := range []struct {
		name string
		dir  bool
		want map[string]string // statuses half a second after the start of the next agent
	}{
		{"without a state directory", false, map[string]string{
			"crash": "1/1 Running restarts=4", "evicted": "1/1 Running restarts=1", "job": "0/1 Completed restarts=0",
			"lost-job": "1/1 Running restarts=0", "ready": "0/1 Running restarts=0",
		}},
		{"with a state directory", true, map[string]string{
			"crash": "1/1 Running restarts=4", "evicted": "0/1 Evicted restarts=0", "job": "0/1 Completed restarts=0",
			"lost-job": "0/1 Completed restarts=0", "ready": "1/1 Running restarts=0",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config, closeDir := stateDir(t, tc.dir)
			called := make(map[types.UID]bool) // the pods for which the workers have called the PodSyncer
			config.Node.Hooks.Workers.Synced = func(s podworkers.Synced) { called[s.UID] = true }
			sent := make(sentPods)
			config.Node.Statuses.Sink = sent
			s := nodetest.New(t, config)
			applyPods(s)
			s.Run(10 * time.Second)
			_, err := s.Node().Evict(uidOf("evicted"), node.Eviction{Message: "no room"})
			require.NoError(t, err)
			s.Run(24*time.Second + 500*time.Millisecond)
			s.AssertStatus("crash", "0/1 CrashLoopBackOff restarts=3")
			s.Delete(uidOf("removed"))
			s.Run(4500 * time.Millisecond)
			ids := runningContainers(s)
			s.Crash()
			closeDir()
			for _, c := range s.Machine().SnapshotPod(uidOf("lost-job")).Containers {
				require.NoError(t, s.Machine().LoseContainer(c.ID))
			}
			clear(sent)
			clear(called)
			s.Start()
			s.Run(500 * time.Millisecond)
			for name, want := range tc.want {
				s.AssertStatus(name, want)
				assert.True(t, called[uidOf(name)], "the pod %s is synced", name)
			}
			assert.Equal(t, ids["ready"], runningContainers(s)["ready"], "a container that runs is adopted")
			assert.Subset(t, slices.Collect(maps.Keys(sent)), slices.Collect(maps.Keys(tc.want)), "each status is sent again")
			s.Run(time.Minute)
			s.Stop()
			closeDir()
			_, crash, _ := strings.Cut(s.Transcript(), "next try in 40s\n")
			assert.Contains(t, crash, "       40s  event BackOff: Back-off restarting failed container c in pod crash_default, next try in 10s\n", "the delays begin again")
			_, removed, _ := strings.Cut(s.Transcript(), "event NotDesired: ")
			assert.Contains(t, removed, `
    1m9.2s  event Killing: Stopping container c: the pod is not desired
   1m19.2s  Hook pre-stop c
   1m19.2s  StopContainer c grace=10s
   1m19.2s  StopSandbox
`, "after 30 s, with the whole grace period")
		})
	}
}

// stateDir returns a configuration whose nodes use one state directory if use is true, and a function that unlocks the
// directory, as the crash of a process does.
func stateDir(t *testing.T, use bool) (config nodetest.Config, closeDir func()) {
	var dir *statedir.Dir
	root := t.TempDir()
	config.Configure = func(c *node.Config) {
		if !use {
			return
		}
		inMemory := c.Volumes
		var err error
		dir, err = statedir.Open(statedir.Config{Root: root})
		require.NoError(t, err)
		require.NoError(t, dir.Configure(c))
		c.Volumes = inMemory
	}
	return config, func() {
		if dir != nil {
			require.NoError(t, dir.Close())
		}
	}
}

// sentPods is a sink that has the names of the pods whose statuses were sent.
type sentPods map[string]bool

// Send implements status.Sink.
func (s sentPods) Send(_ context.Context, u status.Update) error {
	s[u.Pod.Name] = true
	return nil
}

// uidOf returns the UID of a pod.
func uidOf(name string) types.UID { return node.UIDFromName("default", name) }

// applyPods applies one pod for each row of the table.
func applyPods(s *nodetest.Simulation) {
	exec := v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}}
	for _, name := range []string{"crash", "evicted", "job", "lost-job", "ready", "removed"} {
		script := cmp.Or(map[string]string{"crash": "run=1s exit=1", "job": "run=1s", "lost-job": "run=1s"}[name], "run=forever")
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{memory.AnnotationPrefix + "c": script}}}
		pod.Spec = v1.PodSpec{TerminationGracePeriodSeconds: new(int64(20)), Containers: []v1.Container{{Name: "c", Image: "busybox"}}}
		container := &pod.Spec.Containers[0]
		switch name {
		case "job", "lost-job":
			pod.Spec.RestartPolicy = v1.RestartPolicyNever
		case "ready":
			container.ReadinessProbe = &v1.Probe{ProbeHandler: exec, PeriodSeconds: 10}
			pod.Annotations[memory.AnnotationPrefix+"c.readiness"] = "ok for=35s; fail"
		case "removed":
			container.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: exec.Exec}}
			pod.Annotations[memory.AnnotationPrefix+"c.pre-stop"] = "ok takes=10s"
		}
		s.Apply(pod)
	}
}

// runningContainers returns the ID of the running container of each pod that has one.
func runningContainers(s *nodetest.Simulation) map[string]string {
	ids := make(map[string]string)
	for _, pod := range s.Machine().Snapshot() {
		for _, c := range pod.Containers {
			if c.State == runtime.StateRunning {
				ids[pod.Name] = c.ID
			}
		}
	}
	return ids
}
