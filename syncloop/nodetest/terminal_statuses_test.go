package nodetest_test

import (
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// remembering is a simulation whose nodes keep the ends of pods on a disk.
type remembering struct {
	*nodetest.Simulation
	t    *testing.T
	root string
	next *latest
}

// latest are the endings of the node that runs.
type latest struct{ *checkpoint.Dir }

func newRemembering(t *testing.T) *remembering {
	r := &remembering{t: t, root: t.TempDir(), next: &latest{}}
	r.openStore()
	r.Simulation = nodetest.New(t, nodetest.Config{Seed: 3, Node: node.Config{Pods: node.PodsConfig{TerminalStatuses: r.next}}})
	return r
}

func (r *remembering) openStore() {
	r.t.Helper()
	d, err := checkpoint.New(checkpoint.Config{Root: r.root, Log: slog.New(slog.NewTextHandler(r.t.Output(), nil))})
	require.NoError(r.t, err)
	r.next.Dir = d
}

// restartAgent crashes the agent and starts another one.
func (r *remembering) restartAgent() {
	r.t.Helper()
	r.Crash()
	r.openStore()
	r.Start()
}

// storedPods returns the pods with a stored terminal status.
func (r *remembering) storedPods() []types.UID {
	r.t.Helper()
	uids, err := r.next.Pods(func(types.UID) bool { return true }, 100)
	require.NoError(r.t, err)
	return uids
}

func (r *remembering) podStatus(uid types.UID) v1.PodStatus {
	r.t.Helper()
	for _, p := range r.Node().Pods() {
		if p.UID == uid {
			return p.Status
		}
	}
	return v1.PodStatus{}
}

func marshalStatus(t *testing.T, status v1.PodStatus) string {
	t.Helper()
	text, err := json.Marshal(status)
	require.NoError(t, err)
	return string(text)
}

// Part 4, 9: a pod that was evicted, exceeded its active deadline or completed keeps its terminal status when the agent
// restarts, whether the runtime has records of it or not. Other pods are not touched. A dropped pod may be added again.
func TestEndings_Restart(t *testing.T) {
	r := newRemembering(t)
	web, late, job, other := newPod("web", []string{"serve"}), newPod("late", []string{"serve"}), newPod("job", []string{"true"}), newPod("other", []string{"serve"})
	late.Spec.ActiveDeadlineSeconds = new(int64(2))
	job.Spec.RestartPolicy = v1.RestartPolicyNever
	for _, p := range []*v1.Pod{web, late, job, other} {
		r.Apply(p)
	}
	r.Run(3 * time.Second)
	_, err := r.Node().Evict(web.UID, node.Eviction{Message: "the disk is full"})
	require.NoError(t, err)
	r.Run(5 * time.Second)
	assert.Equal(t, []types.UID{"uid-job", "uid-late", "uid-web"}, r.storedPods())
	before := runningContainers(r.Machine())
	require.Equal(t, []string{"other/c0"}, sortedNames(before))
	said := r.podStatus(web.UID)
	assert.Equal(t, "the disk is full", said.Message)

	for round := range 3 {
		if round == 1 { // The runtime forgets all but what runs.
			for _, p := range r.Machine().Snapshot() {
				for _, c := range p.Containers {
					if p.UID != other.UID {
						require.NoError(t, r.Machine().LoseContainer(c.ID))
					}
				}
			}
		}
		r.restartAgent()
		r.Run(time.Minute)
		assert.Equal(t, before, runningContainers(r.Machine()))
		for uid, want := range map[types.UID]string{web.UID: "Failed Evicted", late.UID: "Failed DeadlineExceeded", job.UID: "Succeeded ", other.UID: "Running "} {
			is := r.podStatus(uid)
			assert.Equal(t, want, string(is.Phase)+" "+is.Reason)
		}
		assert.Equal(t, marshalStatus(t, said), marshalStatus(t, r.podStatus(web.UID)), "as it was said before")
		assert.Equal(t, []types.UID{"uid-job", "uid-late", "uid-web"}, r.storedPods())
	}

	r.Delete(web.UID)
	r.Run(time.Minute)
	assert.Equal(t, []types.UID{"uid-job", "uid-late"}, r.storedPods())
	r.Apply(web)
	r.Run(time.Second)
	r.restartAgent()
	r.Run(time.Minute)
	assert.Equal(t, []string{"other/c0", "web/c0"}, sortedNames(runningContainers(r.Machine())))
	r.Stop()
}

// A pod that only stopped because its node drained runs again. A pod that is dropped while no agent runs leaves nothing
// behind.
func TestEndings_Drained(t *testing.T) {
	r := newRemembering(t)
	web, job := newPod("web", []string{"serve"}), newPod("job", []string{"true"})
	job.Spec.RestartPolicy = v1.RestartPolicyNever
	r.Apply(web)
	r.Apply(job)
	r.Run(3 * time.Second)
	drained := false
	r.Go(func() { drained = r.Node().Drain(t.Context(), node.DrainOptions{}) == nil })
	r.Run(time.Minute)
	require.True(t, drained)
	assert.Equal(t, "Failed", string(r.podStatus(web.UID).Phase))
	assert.Equal(t, []types.UID{"uid-job"}, r.storedPods())
	r.Crash()
	r.Delete(job.UID)
	r.openStore()
	r.Start()
	r.Run(time.Minute)
	assert.Equal(t, []string{"web/c0"}, sortedNames(runningContainers(r.Machine())))
	assert.Empty(t, r.storedPods())
	r.Stop()
}

// A UID that comes again before housekeeping has dropped how it had ended runs, and
// does so after a restart.
func TestEndings_ComesAgain(t *testing.T) {
	r := newRemembering(t)
	web := newPod("web", []string{"serve"})
	r.Apply(web)
	r.Run(3 * time.Second)
	_, err := r.Node().Evict(web.UID, node.Eviction{})
	require.NoError(t, err)
	r.Run(time.Second)
	r.Delete(web.UID)
	r.Run(0)
	r.Apply(web)
	r.Run(time.Second)
	assert.Equal(t, []string{"web/c0"}, sortedNames(runningContainers(r.Machine())))
	assert.Empty(t, r.storedPods())
	r.restartAgent()
	r.Run(time.Minute)
	assert.Equal(t, []string{"web/c0"}, sortedNames(runningContainers(r.Machine())))
	r.Stop()
}

// A terminal status that a source delivers has precedence over the stored one.
func TestEndings_SourceKnows(t *testing.T) {
	r := newRemembering(t)
	web := newPod("web", []string{"serve"})
	r.Apply(web)
	r.Run(3 * time.Second)
	_, err := r.Node().Evict(web.UID, node.Eviction{})
	require.NoError(t, err)
	r.Run(time.Second)
	r.Crash()
	said := web.DeepCopy()
	said.Status = v1.PodStatus{Phase: v1.PodSucceeded, Reason: "Judged"}
	r.Apply(said)
	r.openStore()
	r.Start()
	r.Run(time.Minute)
	assert.Empty(t, runningContainers(r.Machine()))
	assert.Equal(t, "Judged", r.podStatus(web.UID).Reason)
	assert.Equal(t, v1.PodSucceeded, r.podStatus(web.UID).Phase)
	r.Stop()
}

// TestEndings_CrashAtEveryStep crashes an agent at each step of an eviction. The next agent continues
// the eviction if it was published, and does not know it otherwise. Other pods are not affected.
func TestEndings_CrashAtEveryStep(t *testing.T) {
	for k := 1; ; k++ {
		r := newRemembering(t)
		web, other := newPod("web", []string{"serve"}), newPod("other", []string{"serve"})
		web.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
		web.Spec.TerminationGracePeriodSeconds = new(int64(5))
		r.Apply(web)
		r.Apply(other)
		r.Run(3 * time.Second)
		before := runningContainers(r.Machine())
		require.Equal(t, []string{"other/c0", "web/c0"}, sortedNames(before))
		_, err := r.Node().Evict(web.UID, node.Eviction{})
		require.NoError(t, err)
		from, until := r.Steps(), r.Now().Add(20*time.Second)
		for r.Steps() < from+k && r.Now().Before(until) {
			r.StepUntil(until)
		}
		over := !r.Now().Before(until)
		evicted := slices.Contains(r.storedPods(), web.UID) // Before the pod is shown to have ended.
		r.restartAgent()
		r.Run(time.Minute)
		after := runningContainers(r.Machine())
		assert.Equal(t, before["other/c0"], after["other/c0"])
		if evicted {
			assert.Equal(t, []string{"other/c0"}, sortedNames(after), "killed at step %d", k)
			assert.Equal(t, "Evicted", r.podStatus(web.UID).Reason)
		} else {
			assert.Equal(t, before, after, "killed at step %d", k)
		}
		r.Stop()
		if over || t.Failed() {
			require.Greater(t, k, 20)
			return
		}
	}
}

// TestEnding_RefusedWhileTheFormerEnds: a pod is added under the UID of a pod that still terminates, and is rejected.
// The rejection is not stored as the terminal status of the former incarnation: the next agent admits the pod. The same
// holds if the former incarnation completed by itself or was evicted.
func TestEnding_RefusedWhileTheFormerEnds(t *testing.T) {
	slow := func() *v1.Pod {
		p := newPod("web", []string{"serve"})
		p.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
		return p
	}
	refuse := func(r *remembering) {
		r.Delete("uid-web")
		r.Go(func() { _ = r.Node().Drain(t.Context(), node.DrainOptions{}) })
		r.Run(0)
		r.Apply(slow())
		r.Run(time.Second)
	}
	for name, test := range map[string]struct {
		end   func(*remembering)
		kept  []types.UID // before the restart
		later time.Duration
	}{
		"crash while it ends":  {end: func(*remembering) {}},
		"crash after it ended": {end: func(*remembering) {}, later: 2 * time.Minute},
		"evicted, crash while it ends": {
			end: func(r *remembering) {
				r.Node().Evict("uid-web", node.Eviction{Reason: "Evicted", Message: "no room"})
				r.Run(time.Second)
			},
		},
		"evicted, crash after it ended": {
			end: func(r *remembering) {
				r.Node().Evict("uid-web", node.Eviction{Reason: "Evicted", Message: "no room"})
				r.Run(time.Second)
			}, later: 2 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRemembering(t)
			r.Apply(slow())
			r.Run(3 * time.Second)
			require.Equal(t, v1.PodRunning, r.podStatus("uid-web").Phase)
			test.end(r)
			refuse(r)
			r.Run(test.later)
			if test.later > 0 {
				require.Equal(t, "Failed NodeShutdown", podState(r.Simulation, "uid-web"))
			}
			require.Equal(t, test.kept, r.storedPods())
			r.restartAgent()
			r.Run(2 * time.Minute)
			assert.Equal(t, "Running ", podState(r.Simulation, "uid-web"))
			r.Stop()
		})
	}
}
