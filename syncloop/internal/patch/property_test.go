package patch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

// statuses generates statuses of a pod.
func statuses() *rapid.Generator[v1.PodStatus] {
	return rapid.Custom(func(t *rapid.T) v1.PodStatus {
		word := rapid.SampledFrom([]string{"", "a", "b"})
		var s v1.PodStatus
		s.Phase = rapid.SampledFrom([]v1.PodPhase{"", v1.PodPending, v1.PodRunning, v1.PodFailed}).Draw(t, "phase")
		s.Reason, s.Message = word.Draw(t, "reason"), word.Draw(t, "message")
		s.NominatedNodeName = word.Draw(t, "nominated")
		for i := range rapid.IntRange(0, 2).Draw(t, "ips") {
			s.PodIPs = append(s.PodIPs, v1.PodIP{IP: fmt.Sprintf("10.0.0.%d", i+rapid.IntRange(1, 2).Draw(t, "ip"))})
		}
		s.PodIPs = slices.Compact(s.PodIPs)
		if rapid.Bool().Draw(t, "started") {
			s.StartTime = &metav1.Time{Time: time.Unix(int64(rapid.IntRange(1, 2).Draw(t, "start")), 0)}
		}
		for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom([]v1.PodConditionType{v1.PodReady, v1.PodScheduled,
			v1.PodResizePending, v1.DisruptionTarget, "example.com/gate", "example.com/other"}), 0, 6, rapid.ID).Draw(t, "conditions") {
			s.Conditions = append(s.Conditions, v1.PodCondition{Type: c, Status: v1.ConditionTrue, Reason: word.Draw(t, "why")})
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "containers") {
			s.ContainerStatuses = append(s.ContainerStatuses, v1.ContainerStatus{Name: fmt.Sprint("c", i), RestartCount: int32(rapid.IntRange(0, 2).Draw(t, "restarts"))})
		}
		if rapid.Bool().Draw(t, "resources") {
			s.Resources = &v1.ResourceRequirements{Limits: v1.ResourceList{}}
			for _, k := range rapid.SliceOfDistinct(rapid.SampledFrom([]v1.ResourceName{"cpu", "memory"}), rapid.ID).Draw(t, "keys") {
				s.Resources.Limits[k] = resource.MustParse(rapid.SampledFrom([]string{"1", "2"}).Draw(t, "q"))
			}
		}
		s.ObservedGeneration = int64(rapid.IntRange(0, 2).Draw(t, "generation"))
		return s
	})
}

// ST-22, ST-41: a patch brings the server's status to the node's status, changes no fields of others, and a
// second patch is empty. The result does not depend on whether the node knew the server's status.
func TestPodStatus_ST22_ST41_AnyTwoStatuses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		server, want := statuses().Draw(t, "server"), statuses().Draw(t, "want")
		before := server.DeepCopy()
		known, err := patch.PodStatus("u", &server, &want)
		require.NoError(t, err)
		require.Equal(t, before, &server)
		got := server
		if known != nil {
			got = apply(t, server, known)
		}
		require.True(t, patch.OnlyNodeFieldsDiffer(&v1.Pod{Status: withoutTarget(server)}, &v1.Pod{Status: withoutTarget(got)}))
		again, err := patch.PodStatus("u", &got, &want)
		require.NoError(t, err)
		require.Nil(t, again, string(again))
		require.Equal(t, want.Phase, got.Phase)
		require.True(t, equality.Semantic.DeepEqual(want.PodIPs, got.PodIPs))
		require.True(t, equality.Semantic.DeepEqual(want.ContainerStatuses, got.ContainerStatuses))

		blind, err := patch.PodStatus("u", nil, &want)
		require.NoError(t, err)
		other := apply(t, server, blind)
		require.Equal(t, other, apply(t, other, blind), "idempotent")
		rest, err := patch.PodStatus("u", &other, &want)
		require.NoError(t, err)
		if rest != nil { // Keys of resources that the node has removed.
			require.Regexp(t, `^{"metadata":{"uid":"u"},"status":{"resources":{"limits":(null|{("(cpu|memory)":null,?)+})}}}$`, string(rest))
		}
	})
}

// withoutTarget removes the DisruptionTarget condition, which others also write.
func withoutTarget(s v1.PodStatus) v1.PodStatus {
	s = *s.DeepCopy()
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget })
	slices.SortFunc(s.Conditions, func(a, b v1.PodCondition) int { return len(a.Type) - len(b.Type) })
	return s
}

// ST-24, ST-43: only changes of fields that others write are reported.
func TestOnlyNodeFieldsDiffer_ST24_ST43(t *testing.T) {
	pod := func(change func(*v1.Pod)) *v1.Pod {
		p := &v1.Pod{Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: "example.com/gate"}}}}
		change(p)
		return p
	}
	old := pod(func(*v1.Pod) {})
	for i, same := range []func(*v1.Pod){
		func(p *v1.Pod) { p.ResourceVersion = "7" },
		func(p *v1.Pod) { p.Status.Phase = v1.PodFailed },
		func(p *v1.Pod) { p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c"}} },
		func(p *v1.Pod) { p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: v1.PodReady}) },
	} {
		require.True(t, patch.OnlyNodeFieldsDiffer(old, pod(same)), i)
	}
	for i, news := range []func(*v1.Pod){
		func(p *v1.Pod) { p.UID = "b" },
		func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} },
		func(p *v1.Pod) { p.Spec.NodeName = "n" },
		func(p *v1.Pod) { p.Status.NominatedNodeName = "n" },
		func(p *v1.Pod) { p.Status.Conditions[0].Status = v1.ConditionTrue },
		func(p *v1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget})
		},
	} {
		require.False(t, patch.OnlyNodeFieldsDiffer(old, pod(news)), i)
	}
	require.Equal(t, v1.DisruptionTarget, podstatus.NodeConditions()[8])
}
