package nodetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// recording is a test that notes its failures.
type recording struct {
	testing.TB
	failures []string
}

func (r *recording) Error(args ...any)                 { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recording) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func TestCheck_I37(t *testing.T) {
	c := runtime.Container{Name: "c", State: runtime.StateRunning}
	other, over := runtime.Container{Name: "d", State: runtime.StateRunning}, runtime.Container{Name: "c", State: runtime.StateExited}
	ready, stopped := runtime.Sandbox{Ready: true}, runtime.Sandbox{}
	assert.NoError(t, Check(&runtime.Pod{}))
	assert.NoError(t, Check(&runtime.Pod{
		Sandboxes: []runtime.Sandbox{ready, stopped}, Containers: []runtime.Container{c, other, over, over},
	}))
	assert.EqualError(t, Check(&runtime.Pod{Containers: []runtime.Container{c, over, c}}), "container c runs twice")
	assert.EqualError(t, Check(&runtime.Pod{Sandboxes: []runtime.Sandbox{ready, stopped, ready}}), "2 sandboxes are ready")
}

// TestSimulation_FailsTheTestForABrokenInvariant: a second sandbox, made behind the
// node's back.
func TestSimulation_FailsTheTestForABrokenInvariant(t *testing.T) {
	failed := &recording{TB: t}
	b := New(failed, Config{})
	p := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}}}
	p.UID, p.Name, p.Namespace = "a", "web", "default"
	b.Apply(p)
	b.Run(time.Second)
	require.Empty(t, failed.failures)
	_, err := b.Machine().RunSandbox(context.Background(), runtime.RunSandboxRequest{
		Pod: runtime.PodRef{UID: "a", Name: "web", Namespace: "default"}, Attempt: 7,
	})
	require.NoError(t, err)
	b.Run(0)
	assert.Equal(t, []string{"nodetest: at 1s: pod default/web: 2 sandboxes are ready"}, failed.failures[:1])
	b.Stop()
}

// TestTrace_FailsTheTestForABrokenStatus, also for a step that breaks a rule
// that neither of its ends does, and not across two incarnations.
func TestTrace_FailsTheTestForABrokenStatus(t *testing.T) {
	failed := &recording{TB: t}
	tr := newTrace(func() time.Time { return Epoch })
	show := func(version, epoch uint64, restarts int32, conditions ...v1.PodCondition) string {
		p := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
		p.UID, p.Name, p.Namespace = "a", "web", "default"
		p.Status = v1.PodStatus{Conditions: conditions, ContainerStatuses: []v1.ContainerStatus{{
			Name: "c", RestartCount: restarts, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}},
		}}}
		failed.failures = nil
		tr.recordAndCheckState(node.PodState{Pod: p, Version: version, StatusEpoch: epoch}, "")
		tr.faults.reportAndClear(failed)
		return strings.Join(failed.failures, "\n")
	}
	assert.Empty(t, show(1, 0, 3))
	assert.Contains(t, show(2, 0, 2), "the restart count fell from 3 to 2")
	assert.Empty(t, show(4, 0, 1), "another one came between")
	assert.Empty(t, show(5, 1, 0), "another status epoch")
	assert.Contains(t, show(6, 1, 0, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue}), "ready without container c")
}
