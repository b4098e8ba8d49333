package status_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/status/statustest"
)

var ended = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
	StartedAt: metav1.NewTime(start), FinishedAt: metav1.NewTime(start.Add(time.Second)),
}}

// What a store makes of a pod's life passes its own invariant checker.
func TestStore_I26_I27_I28_PublishesWhatTheInvariantsAllow(t *testing.T) {
	w := newHarness()
	pod := newPod("a")
	waiting := v1.PodStatus{Phase: v1.PodPending, ContainerStatuses: []v1.ContainerStatus{{Name: "c", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}}}}
	crashed := runningStatus(false)
	crashed.ContainerStatuses[0].State = ended
	restarted := runningStatus(false)
	restarted.ContainerStatuses[0].ContainerID = "mem://2"
	restarted.ContainerStatuses[0].RestartCount = 1
	restarted.ContainerStatuses[0].LastTerminationState = ended
	var old *v1.PodStatus
	for i, step := range []func(){
		func() { w.SetPodStatus(pod, waiting) },
		func() { w.SetPodStatus(pod, runningStatus(false)) },
		func() { w.SetContainerReadiness("a", "mem://1", true) },
		func() { w.SetPodStatus(pod, crashed) },
		func() { w.SetContainerReadiness("a", "mem://1", true) }, // late
		func() { w.SetPodStatus(pod, restarted) },
		func() { w.SetContainerReadiness("a", "mem://2", true) },
		func() { w.TerminatePod(pod) },
		func() { w.SetContainerReadiness("a", "mem://2", true) }, // late
	} {
		w.advanceClock(time.Second)
		step()
		s := w.mustGetStatus(t, "a")
		require.NoError(t, statustest.CheckTransition(old, &s), "step %d", i)
		require.NoError(t, statustest.CheckStatus(pod, &s), "step %d", i)
		old = &s
	}
	require.NoError(t, statustest.CheckGone(old))
}
