package podworkerstest

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime"
)

// Option makes a pod differ from the plain one.
type Option func(*v1.Pod)

// Pod is a plain pod: its name is also its UID, its namespace is "default", its
// source the API server, and it has one container.
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

// UID gives the pod another UID than its name.
func UID(uid types.UID) Option { return func(p *v1.Pod) { p.UID = uid } }

// Namespace puts the pod elsewhere.
func Namespace(ns string) Option { return func(p *v1.Pod) { p.Namespace = ns } }

// Static makes a static pod: one that comes from a file, and of which only one
// of a full name is started at a time.
func Static() Option { return Source("file") }

// Source says where the pod comes from.
func Source(name string) Option {
	return func(p *v1.Pod) { p.Annotations[podmanager.ConfigSourceAnnotation] = name }
}

// Mirror makes the pod a mirror, which only stands for a static pod.
func Mirror() Option {
	return func(p *v1.Pod) { p.Annotations[podmanager.ConfigMirrorAnnotation] = "mirror" }
}

// Version numbers the pod's content. A Trace shows it, and Rules compare it.
func Version(n int64) Option { return func(p *v1.Pod) { p.Generation = n } }

// Grace is the grace of the spec, in seconds.
func Grace(seconds int64) Option {
	return func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// Deleted gives the pod a deletion timestamp and a deletion's grace in seconds.
func Deleted(grace int64) Option {
	return func(p *v1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
		p.DeletionGracePeriodSeconds = &grace
	}
}

// Phase is the phase that the pod's status claims.
func Phase(phase v1.PodPhase) Option { return func(p *v1.Pod) { p.Status.Phase = phase } }

// Running is a pod as the runtime shows it: with one running container.
func Running(uid types.UID) *runtime.Pod {
	return &runtime.Pod{
		UID: uid, Name: string(uid), Namespace: "default",
		Containers: []runtime.Container{{ID: string(uid) + "-1", Name: "main", State: runtime.StateRunning}},
	}
}

// RunningStatus is the status of such a pod, for Cache.Set.
func RunningStatus(uid types.UID) *runtime.PodStatus {
	return &runtime.PodStatus{
		UID: uid, Name: string(uid), Namespace: "default",
		Containers: []runtime.ContainerStatus{{
			Container: runtime.Container{ID: string(uid) + "-1", Name: "main", State: runtime.StateRunning},
		}},
	}
}
