package explain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/proportion"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node/explain"
)

// Explain returns a sentence even without any fact.
func TestExplain_NothingIsKnown(t *testing.T) {
	assert.NotEmpty(t, explain.Explain(explain.Facts{}).Sentence)
}

// A pod with thousands of containers is explained in time in proportion to them.
func TestExplain_Size(t *testing.T) {
	const few, times = 250, 20
	work := func(n int) func() {
		facts := backwards(n)
		return func() { assert.Len(t, explain.Explain(facts).Waits, n) }
	}
	proportion.Check(t, work(few), work(few*times), times)
}

// backwards are facts of a pod of n containers whose statuses are in the other order.
func backwards(n int) explain.Facts {
	f := explain.Facts{
		Now: time.Unix(0, 0), Pod: &v1.Pod{}, Desired: true, Status: &v1.PodStatus{}, Runtime: &runtime.PodStatus{},
		Worker:   explain.Worker{Known: true, Phase: "Syncing", Step: explain.Idle, NextAt: time.Unix(9, 0)},
		LastSync: explain.Sync{Err: "it failed"}, BackoffUntil: make(map[string]time.Time),
	}
	for i := range n {
		name, back := fmt.Sprintf("c%06d", i), fmt.Sprintf("c%06d", n-1-i)
		f.Pod.Spec.Containers = append(f.Pod.Spec.Containers, v1.Container{Name: name, ReadinessProbe: &v1.Probe{}})
		f.Runtime.Containers = append(f.Runtime.Containers, runtime.ContainerStatus{Container: runtime.Container{Name: name}})
		s := v1.ContainerStatus{Name: back, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}}
		if i%2 == 0 {
			s.State, s.Started = v1.ContainerState{Running: &v1.ContainerStateRunning{}}, new(true)
		}
		f.Status.ContainerStatuses = append(f.Status.ContainerStatuses, s)
		f.Probes = append(f.Probes, explain.Probe{Container: name, Kind: "readiness", Message: "no"})
		f.BackoffUntil[name] = time.Unix(5, 0)
	}
	return f
}
