package merge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

// TestDiff_F18_WhatMakesAnotherPod: a change of a mutable field is an UPDATE, and any other change
// a REMOVE and an ADD.
func TestDiff_F18_WhatMakesAnotherPod(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*v1.PodSpec)
		want   string
	}{
		{"image", func(s *v1.PodSpec) { s.Containers[0].Image = "v2" }, "update"},
		{"pull policy", func(s *v1.PodSpec) { s.Containers[0].ImagePullPolicy = v1.PullAlways }, "update"},
		{"image of an init container", func(s *v1.PodSpec) { s.InitContainers[0].Image = "v2" }, "update"},
		{"its pull policy", func(s *v1.PodSpec) { s.InitContainers[0].ImagePullPolicy = v1.PullAlways }, "update"},
		{"grace", func(s *v1.PodSpec) { s.TerminationGracePeriodSeconds = new(int64(5)) }, "update"},
		{"deadline", func(s *v1.PodSpec) { s.ActiveDeadlineSeconds = new(int64(5)) }, "update"},
		{"tolerations", func(s *v1.PodSpec) { s.Tolerations = []v1.Toleration{{Key: "k"}} }, "update"},
		{"ephemeral containers", func(s *v1.PodSpec) { s.EphemeralContainers = make([]v1.EphemeralContainer, 1) }, "update"},
		{"scheduling gates", func(s *v1.PodSpec) { s.SchedulingGates = make([]v1.PodSchedulingGate, 1) }, "update"},
		{"node", func(s *v1.PodSpec) { s.NodeName = "n" }, "update"},
		{"resources", func(s *v1.PodSpec) {
			s.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
		}, "update"},
		{"resources that are claimed", func(s *v1.PodSpec) {
			s.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
		}, "update"},
		{"resources of an init container", func(s *v1.PodSpec) {
			s.InitContainers[0].Resources.Requests = v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")}
		}, "update"},
		{"resources of the pod", func(s *v1.PodSpec) {
			s.Resources = &v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}}
		}, "update"},
		{"how it is resized", func(s *v1.PodSpec) {
			s.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceCPU, RestartPolicy: v1.NotRequired}}
		}, "update"},

		{"command", func(s *v1.PodSpec) { s.Containers[0].Command = []string{"c"} }, "another"},
		{"env", func(s *v1.PodSpec) { s.Containers[0].Env = []v1.EnvVar{{Name: "A"}} }, "another"},
		{"one container more", func(s *v1.PodSpec) { s.Containers = append(s.Containers, v1.Container{Name: "d"}) }, "another"},
		{"an init container's command", func(s *v1.PodSpec) { s.InitContainers[0].Command = []string{"c"} }, "another"},
		{"restart policy", func(s *v1.PodSpec) { s.RestartPolicy = v1.RestartPolicyNever }, "another"},
		{"host network", func(s *v1.PodSpec) { s.HostNetwork = true }, "another"},
		{"a volume", func(s *v1.PodSpec) { s.Volumes = []v1.Volume{{Name: "v"}} }, "another"},
		{"one quantity in another form", func(s *v1.PodSpec) {
			s.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1000m")}
		}, "nothing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "a"}}
			before.Spec.InitContainers = []v1.Container{{Name: "i", Image: "v1"}}
			before.Spec.Containers = []v1.Container{{Name: "c", Image: "v1", Resources: v1.ResourceRequirements{
				Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")},
			}}}
			now := before.DeepCopy()
			tc.change(&now.Spec)
			untouched := now.DeepCopy()
			changed := func(guarded bool) merge.Changes {
				s := both{guarded: guarded}
				s.replaceAll([]*v1.Pod{before})
				s.takeChanges(t)
				s.putPod(now)
				return s.takeChanges(t)
			}
			c := changed(false)
			got := "nothing"
			switch {
			case len(c.Update) == 1 && len(c.Remove)+len(c.Add) == 0:
				got = "update"
			case len(c.Remove) == 1 && len(c.Add) == 1 && len(c.Update) == 0:
				got = "another"
			}
			assert.Equal(t, tc.want, got)
			assert.Equal(t, untouched, now, "comparing changes nothing")
			guarded := changed(true)
			assert.Empty(t, append(guarded.Remove, guarded.Add...), "an API server has allowed it")
		})
	}
}

// A deletion cannot be taken back, so a pod without its deletion is another pod: the API server was
// restored from a backup.
func TestTracker_F18_DeletionTakenBack(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		s := both{guarded: guarded}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "a"}}
		deleted := pod.DeepCopy()
		deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &metav1.Time{}, new(int64(30))
		s.replaceAll([]*v1.Pod{deleted})
		s.takeChanges(t)
		s.putPod(pod)
		c := s.takeChanges(t)
		assert.Len(t, c.Remove, 1)
		assert.Len(t, c.Add, 1)
		assert.Empty(t, append(c.Update, c.Reconcile...))
	}
}
