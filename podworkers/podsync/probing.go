package podsync

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Prober runs the probes of pods and says what follows from them: a prober.Prober, or
// another one. Container IDs are those of statuses, with the name of the runtime before
// them. Calls for one pod come one after the other, calls for different pods concurrently.
// No method may block. A panic is contained and has no effect, but that a
// container with a startup or a readiness probe is not ready after one in UpdatePodStatus.
type Prober interface {
	// AddPod starts to probe a pod that has probes. It is called in each sync, before the
	// status is made, and does nothing for a pod that is known. The pod is only read. The
	// commands of exec probes have their variables expanded.
	AddPod(pod *v1.Pod)
	// UpdatePodStatus sets Started and Ready of each container in a status that is being
	// made. It is called for each status before that is published, for pods without probes
	// too, and after RemovePod. It keeps neither argument.
	UpdatePodStatus(pod *v1.Pod, status *v1.PodStatus)
	// ObserveStatus is called with each status that was published of a pod with probes: which
	// containers run, since when, and the pod's addresses. Before the first AddPod it is
	// called with the status that was published before the agent was started, if there
	// is one. The status is valid during the call and only read.
	ObserveStatus(uid types.UID, status *v1.PodStatus)
	// Failed reports whether a running container has failed its liveness probe, and whether its
	// startup probe. It is called in each sync, for each container that runs. A container
	// that failed one is stopped, and restarted if its restart policy says so.
	Failed(uid types.UID, containerID string) (liveness, startup bool)
	// Started reports whether a running container's startup probe has succeeded. It is called
	// after Failed, if the startup probe has not failed. A sidecar holds up the
	// containers after it until it has started.
	Started(uid types.UID, containerID string) bool
	// StopLivenessAndStartup ends these two kinds of probes of a pod that begins to terminate.
	// It is called in each SyncTerminatingPod.
	StopLivenessAndStartup(uid types.UID)
	// RemovePod ends all probes of a pod. It is called when no container of it runs any more,
	// possibly more than once, and for pods that were never added.
	RemovePod(uid types.UID)
}

// noProbes is the Prober of a Config without one.
type noProbes struct{}

func (noProbes) AddPod(*v1.Pod)                         {}
func (noProbes) UpdatePodStatus(*v1.Pod, *v1.PodStatus) {}
func (noProbes) ObserveStatus(types.UID, *v1.PodStatus) {}
func (noProbes) Failed(types.UID, string) (_, _ bool)   { return false, false }
func (noProbes) Started(types.UID, string) bool         { return false }
func (noProbes) StopLivenessAndStartup(types.UID)       {}
func (noProbes) RemovePod(types.UID)                    {}

// guardedProbes contains a Prober.
type guardedProbes struct {
	inner Prober
	guard *contain.Guard
}

func (p guardedProbes) AddPod(pod *v1.Pod) {
	_ = p.guard.Call("Probes.AddPod", func() { p.inner.AddPod(pod) })
}

func (p guardedProbes) UpdatePodStatus(pod *v1.Pod, status *v1.PodStatus) {
	if p.guard.Call("Probes.UpdatePodStatus", func() { p.inner.UpdatePodStatus(pod, status) }) != nil {
		unprobed(pod, status)
	}
}

func (p guardedProbes) ObserveStatus(uid types.UID, status *v1.PodStatus) {
	_ = p.guard.Call("Probes.ObserveStatus", func() { p.inner.ObserveStatus(uid, status) })
}

func (p guardedProbes) Failed(uid types.UID, containerID string) (liveness, startup bool) {
	if p.guard.Call("Probes.Failed", func() { liveness, startup = p.inner.Failed(uid, containerID) }) != nil {
		return false, false
	}
	return liveness, startup
}

func (p guardedProbes) Started(uid types.UID, containerID string) (is bool) {
	_ = p.guard.Call("Probes.Started", func() { is = p.inner.Started(uid, containerID) })
	return is
}

func (p guardedProbes) StopLivenessAndStartup(uid types.UID) {
	_ = p.guard.Call("Probes.StopLivenessAndStartup", func() { p.inner.StopLivenessAndStartup(uid) })
}

func (p guardedProbes) RemovePod(uid types.UID) {
	_ = p.guard.Call("Probes.RemovePod", func() { p.inner.RemovePod(uid) })
}

// unprobed sets Started and Ready as if no probe had an answer.
func unprobed(pod *v1.Pod, status *v1.PodStatus) {
	for _, list := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			if c := podspec.FindContainer(podspec.LongRunningContainers(pod), list[i].Name); c != nil {
				podstatus.SetUnprobed(c, &list[i])
			}
		}
	}
}
