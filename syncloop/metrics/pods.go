package metrics

import (
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
)

// trackedPods has the state that the metrics need about each pod, from its first status until the workers have
// forgotten it.
type trackedPods struct {
	known sync.Map // of *pod by types.UID
}

// pod is the state that the metrics need about one pod.
type pod struct {
	mu            sync.Mutex
	pod           *v1.Pod
	wasRunning    bool                       // all its containers have been running
	reachedServer bool                       // and that status has reached the API server
	pulls         []span                     // image pulls before that
	countedEnds   map[string]string          // by container: the ID of the last counted termination
	probes        map[probeKey]*probeMetrics // the probes that have metrics
}

// span is a period of time.
type span struct{ from, to time.Time }

// trackStartedPod stores the newest spec of a pod for later metrics, and returns the tracked pod; first is true
// if the pod is new. It returns nil and stores nothing for a new pod without a start time or with a terminal
// phase. Such a pod may have no worker, and a tracked pod is deleted only with its worker.
func (p *trackedPods) trackStartedPod(spec *v1.Pod, st *v1.PodStatus) (known *pod, first bool) {
	found, loaded := p.known.Load(spec.UID)
	if !loaded {
		if st.StartTime == nil || st.Phase == v1.PodFailed || st.Phase == v1.PodSucceeded {
			return nil, false
		}
		found, loaded = p.known.LoadOrStore(spec.UID, &pod{})
	}
	one := found.(*pod)
	one.mu.Lock()
	defer one.mu.Unlock()
	one.pod = spec
	return one, !loaded
}

// callWithTrackedPod calls f with the tracked pod of a UID, under the pod's lock. It does nothing if the pod is
// not tracked. f must not block.
func (p *trackedPods) callWithTrackedPod(uid types.UID, f func(*pod)) {
	if one, ok := p.known.Load(uid); ok {
		one.(*pod).callUnderLock(f)
	}
}

// callUnderLock calls f with the pod, under the lock of the pod.
func (p *pod) callUnderLock(f func(*pod)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

// removePod stops tracking a pod whose worker was removed, and deletes the time series of its probes.
func (m *Metrics) removePod(uid types.UID) {
	if one, ok := m.pods.known.LoadAndDelete(uid); ok {
		one.(*pod).callUnderLock(m.probes.deletePodSeries)
	}
}

// firstSeenTime returns the time at which the node first received a pod, from an annotation. It returns false
// if the annotation is missing or invalid.
func firstSeenTime(pod *v1.Pod) (time.Time, bool) {
	seen, err := time.Parse(time.RFC3339Nano, pod.Annotations[podmanager.ConfigFirstSeenAnnotation])
	return seen, err == nil
}

// The values of the label container_type.
const (
	typeRegular   = "container"
	typeInit      = "init_container"
	typeEphemeral = "ephemeral_container"
)

// containerType returns the label value for a regular, init or ephemeral container. A name that the spec does
// not have as a regular or init container counts as ephemeral.
func containerType(pod *v1.Pod, name string) string {
	named := func(c v1.Container) bool { return c.Name == name }
	switch {
	case slices.ContainsFunc(pod.Spec.Containers, named):
		return typeRegular
	case slices.ContainsFunc(pod.Spec.InitContainers, named):
		return typeInit
	}
	return typeEphemeral
}
