package nodetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/objects"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// everything has one of each: an init container between two sidecars, probes and
// hooks, a rule, a volume.
const everything = `
metadata:
  name: rich
  annotations:
    memory.podkeel.dev/setup: "run=1s exit=0"
    memory.podkeel.dev/mesh.startup: "fail for=1500ms; ok"
    memory.podkeel.dev/log.pre-stop: "ok takes=500ms"
    memory.podkeel.dev/web.post-start: "ok takes=300ms"
    memory.podkeel.dev/web.pre-stop: "ok takes=2s"
    memory.podkeel.dev/web.readiness: "fail for=1200ms; ok"
    memory.podkeel.dev/job: "run=1700ms exit=42; run=forever exit=0"
spec:
  terminationGracePeriodSeconds: 30
  volumes: [{name: settings, configMap: {name: rich}}]
  initContainers:
  - {name: mesh, image: mesh:1, restartPolicy: Always, startupProbe: {httpGet: {port: 80}, periodSeconds: 1}}
  - {name: setup, image: setup:1}
  - {name: log, image: log:1, restartPolicy: Always, lifecycle: {preStop: {exec: {command: [bye]}}}}
  containers:
  - name: web
    image: web:1
    volumeMounts: [{name: settings, mountPath: /settings}]
    readinessProbe: {httpGet: {port: 80}, periodSeconds: 2}
    livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 5}
    lifecycle: {postStart: {exec: {command: [hello]}}, preStop: {exec: {command: [bye]}}}
  - name: job
    image: job:1
    restartPolicy: Never
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
`

// rich is the harness of a story of that pod: it comes, gets another image, and
// ends in one of three ways, or not.
type rich struct {
	b               *nodetest.Simulation
	recordedVolumes *recordedVolumes
	updated         *v1.Pod
	end             string
}

func newRich(t *testing.T, end string) *rich {
	known := objects.NewMap()
	settings := &v1.ConfigMap{}
	settings.Name, settings.Namespace = "rich", "default"
	known.ApplyConfigMap(settings)
	r := &rich{recordedVolumes: newRecordedVolumes(inmemory.New(inmemory.Config{Objects: known})), end: end}
	r.b = nodetest.New(t, nodetest.Config{Seed: 11, Node: node.Config{Volumes: node.VolumesConfig{Objects: known, Manager: r.recordedVolumes, Files: r.recordedVolumes}}})
	p := decodePod(t, everything)
	r.updated = p.DeepCopy()
	r.updated.Spec.Containers[0].Image = "web:2"
	r.b.Apply(p)
	return r
}

// playStory plays the story until the caller stops it, and then applies the rest at once:
// the desired pods do not depend on the agent.
func (r *rich) playStory(until func() bool) {
	run := func(to time.Duration) {
		for end := nodetest.Epoch.Add(to); r.b.Now().Before(end) && !until(); {
			r.b.StepUntil(end)
		}
	}
	run(8 * time.Second)
	r.b.Apply(r.updated)
	run(14 * time.Second)
	switch r.end {
	case "drop":
		r.b.Delete("rich")
	case "evict":
		if !until() {
			_, _ = r.b.Node().Evict("rich", node.Eviction{Message: "the story says so"})
		}
	}
	run(22 * time.Second)
}

// TestCrash_I34_I35_I37_Rich crashes the agent once at each step of a pod that
// has some of everything. The simulation checks what must hold at each call,
// the order of the stops and the hooks among it.
//
// The agent's crash loses some facts, because no API server stores them: the eviction of the pod; the success of the
// probes (PR-5, CS-12), so that the pod is unready until each probe has run once more; the success of a PostStart hook
// (KC-5); the hooks of a kill that have run.
func TestCrash_I34_I35_I37_Rich(t *testing.T) {
	for _, end := range []string{"none", "drop", "evict"} {
		t.Run(end, func(t *testing.T) {
			whole, first := newRich(t, end), 1
			whole.playStory(func() bool {
				if end == "evict" && whole.b.Now().Before(nodetest.Epoch.Add(14*time.Second)) {
					first = whole.b.Steps() // Until then it is the story of none.
				}
				return false
			})
			steps := whole.b.Steps()
			whole.b.Stop()
			t.Logf("%d steps", steps)
			for k := first; k <= steps; k += crashStride(steps - first + 1) {
				crashRich(t, end, k)
				if t.Failed() {
					t.Fatalf("the crash at step %d", k)
				}
			}
		})
	}
}

func crashRich(t *testing.T, end string, k int) {
	r := newRich(t, end)
	r.playStory(func() bool { return r.b.Steps() >= k })
	before := runningContainers(r.b.Machine())
	at := r.b.Now()
	r.b.Crash()
	r.b.Start()
	flaps := r.countFlaps(20 * time.Second)
	r.b.Run(40 * time.Second)
	after := runningContainers(r.b.Machine())
	switch evicted := end == "evict" && !at.Before(nodetest.Epoch.Add(14*time.Second)); {
	case end == "drop":
		require.Empty(t, r.b.Machine().Snapshot(), "nothing is left of a pod that is not desired (I34)")
		require.Empty(t, r.recordedVolumes.remainingPods())
	case evicted && isStopped(r.b.Machine().SnapshotPod("rich")):
		// It had ended, and a job that ended with 0 does not run again.
	default:
		require.Subset(t, []string{"rich/job", "rich/log", "rich/mesh", "rich/web"}, sortedNames(after))
		require.Subset(t, sortedNames(after), []string{"rich/log", "rich/mesh", "rich/web"}, "the desired containers run")
		require.LessOrEqual(t, flaps, 1, "it gets ready once, and is unready for the change of its image (PR-5)")
	}
	for name, id := range before {
		if end == "none" && name != "rich/web" && name != "rich/job" && name != "rich/setup" {
			require.Equal(t, id, after[name], "a container of an unchanged pod is left alone (I35)")
		}
	}
	r.b.Stop()
}

// countFlaps runs the node for d and counts how often the pod stops being ready.
func (r *rich) countFlaps(d time.Duration) (n int) {
	ready := false
	for end := r.b.Now().Add(d); r.b.Now().Before(end); {
		r.b.Run(500 * time.Millisecond)
		was := ready
		ready = isReady(r.b.Node().Pods(), "rich")
		if was && !ready {
			n++
		}
	}
	return n
}
