package nodetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// History has each status of a pod, with the conditions, once.
func TestSimulation_History(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{})
	p := newPod("job", []string{"sleep", "5"})
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/gate"}}
	b.Apply(p)
	b.Run(2 * time.Second)
	open := p.DeepCopy()
	open.Status.Conditions = []v1.PodCondition{{Type: "example.com/gate", Status: v1.ConditionTrue}}
	b.Apply(open) // A condition changes, and the line of the transcript does not.
	b.Run(8 * time.Second)
	b.Delete(p.UID)
	b.Run(time.Minute)
	b.Stop()
	type row struct {
		at    time.Duration
		text  string
		phase v1.PodPhase
		ready v1.ConditionStatus
	}
	var rows []row
	for _, o := range b.History("job") {
		r := row{o.At, o.Text, o.Status.Phase, ""}
		for _, c := range o.Status.Conditions {
			if c.Type == v1.PodReady {
				r.ready = c.Status
			}
		}
		rows = append(rows, r)
	}
	assert.Equal(t, []row{
		{0, "1/1 Running restarts=0", v1.PodRunning, v1.ConditionFalse},
		{2 * time.Second, "1/1 Running restarts=0", v1.PodRunning, v1.ConditionTrue},
		{5 * time.Second, "0/1 Completed restarts=0", v1.PodSucceeded, v1.ConditionFalse},
		{10100 * time.Millisecond, "gone", v1.PodSucceeded, v1.ConditionFalse},
	}, rows)
	b.History("default/job")[0].Status.Phase = "changed"
	assert.Equal(t, v1.PodRunning, b.History("job")[0].Status.Phase, "it is a copy")

	f := runStory(func(t *tb) {
		b := nodetest.New(t, nodetest.Config{})
		b.Apply(newPod("web", []string{"serve"}))
		b.Run(time.Second)
		b.History("wep")
	})
	assert.Equal(t, "nodetest: at 1s: there is no pod default/wep: the pods are default/web", f.said)
	f = runStory(func(t *tb) { nodetest.New(t, nodetest.Config{}).History("web") })
	assert.Equal(t, "nodetest: at 0s: there is no pod default/web: no pod was observed", f.said)
}

// A job that has ended does not run again beside an API server that has kept its status, although
// the runtime has lost its records. Without the status nothing shows that it has run.
func TestSimulation_RestartWithStatuses(t *testing.T) {
	restarted := func(restart func(b *nodetest.Simulation)) (string, string) {
		b := nodetest.New(t, nodetest.Config{Node: node.Config{Pods: node.PodsConfig{FromAPIServer: true}}})
		job := newPod("job", []string{"sleep", "5"})
		job.Spec.RestartPolicy = v1.RestartPolicyNever
		b.Apply(job)
		b.Apply(newPod("web", []string{"serve"}))
		b.Run(10 * time.Second)
		b.AssertPhase("job", v1.PodSucceeded)
		require.NoError(t, b.Machine().LoseContainer(newestContainer(t, b, "job", "c0")))
		restart(b)
		b.Run(time.Second)
		b.AssertStatus("web", "1/1 Running restarts=0")
		b.Stop()
		assert.Empty(t, job.Status, "the pod of the test is not modified")
		return b.Status("job"), b.Transcript()
	}
	kept, transcript := restarted(func(b *nodetest.Simulation) { b.RestartWithStatuses() })
	assert.Equal(t, "0/1 Completed restarts=0", kept)
	assert.Contains(t, transcript, "10s  the agent crashes\n")
	lost, _ := restarted(func(b *nodetest.Simulation) { b.Crash(); b.Start() })
	assert.Equal(t, "1/1 Running restarts=0", lost)
	after, _ := restarted(func(b *nodetest.Simulation) { b.Crash(); b.Run(time.Second); b.RestartWithStatuses() })
	assert.Equal(t, kept, after, "time may pass without a node")
}
