package metrics

import (
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
)

// trackedPods is what is remembered of each pod from its first status until the workers have forgotten
// it.
type trackedPods struct {
	known sync.Map // of *pod by types.UID
}

// pod is what is remembered of one pod.
type pod struct {
	mu            sync.Mutex
	pod           *v1.Pod
	wasRunning    bool                       // all its containers were running once
	reachedServer bool                       // and the API server has been told
	pulls         []span                     // of images, until then
	countedEnds   map[string]string          // container IDs that have been counted, by container
	probes        map[probeKey]*probeMetrics // those with metrics
}

// span is from one time to another.
type span struct{ from, to time.Time }

// trackPod remembers a pod with its newest content, and reports whether it is new. A pod that has not
// started, or had ended before it came, is not remembered and nil: it may have no worker, which
// would forget it.
func (p *trackedPods) trackPod(spec *v1.Pod, st *v1.PodStatus) (known *pod, first bool) {
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

// update calls f, which must not block, with a pod that is known.
func (p *trackedPods) updatePod(uid types.UID, f func(*pod)) {
	if one, ok := p.known.Load(uid); ok {
		one.(*pod).update(f)
	}
}

func (p *pod) update(f func(*pod)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

// removePod follows each pod of which the workers know nothing any more.
func (m *Metrics) removePod(uid types.UID) {
	if one, ok := m.pods.known.LoadAndDelete(uid); ok {
		one.(*pod).update(m.probes.deletePodSeries)
	}
}

// firstSeenTime is when the node first saw a pod; false: nobody has noted it.
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

// containerType is the kind of a container of a pod.
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
