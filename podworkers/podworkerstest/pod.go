package podworkerstest

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime"
)

// Option changes a pod that Pod returns.
type Option func(*v1.Pod)

// Pod returns a pod with one container. Its name is also its UID, its namespace is "default" and
// its source is the API server.
func Pod(name string, options ...Option) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name),
			Annotations: map[string]string{podmanager.ConfigSourceAnnotation: podmanager.ApiserverSource},
		},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "registry.example/main:1"}}},
	}
	for _, o := range options {
		o(pod)
	}
	return pod
}

// UID sets the UID. The default is the name.
func UID(uid types.UID) Option { return func(p *v1.Pod) { p.UID = uid } }

// Namespace sets the namespace.
func Namespace(ns string) Option { return func(p *v1.Pod) { p.Namespace = ns } }

// Static makes a static pod: its source is a file, and only one static pod with a full name is
// started at a time.
func Static() Option { return Source("file") }

// Source sets the name of the source that delivered the pod.
func Source(name string) Option {
	return func(p *v1.Pod) { p.Annotations[podmanager.ConfigSourceAnnotation] = name }
}

// Mirror makes the pod a mirror pod.
func Mirror() Option {
	return func(p *v1.Pod) { p.Annotations[podmanager.ConfigMirrorAnnotation] = "mirror" }
}

// Version sets the generation of the pod. A Trace shows it, and Rules compare it.
func Version(n int64) Option { return func(p *v1.Pod) { p.Generation = n } }

// Grace sets the grace period of the spec, in seconds.
func Grace(seconds int64) Option {
	return func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// Deleted sets a deletion timestamp and the deletion's grace period in seconds.
func Deleted(grace int64) Option {
	return func(p *v1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
		p.DeletionGracePeriodSeconds = &grace
	}
}

// Phase sets the phase in the pod's status.
func Phase(phase v1.PodPhase) Option { return func(p *v1.Pod) { p.Status.Phase = phase } }

// Running returns a pod as a runtime lists it, with one running container.
func Running(uid types.UID) *runtime.Pod {
	return &runtime.Pod{
		UID: uid, Name: string(uid), Namespace: "default",
		Containers: []runtime.Container{{ID: string(uid) + "-1", Name: "main", State: runtime.StateRunning}},
	}
}

// RunningStatus returns the status of a pod with one running container, for Cache.Set.
func RunningStatus(uid types.UID) *runtime.PodStatus {
	return &runtime.PodStatus{
		UID: uid, Name: string(uid), Namespace: "default",
		Containers: []runtime.ContainerStatus{{
			Container: runtime.Container{ID: string(uid) + "-1", Name: "main", State: runtime.StateRunning},
		}},
	}
}
