package podsync

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Prober runs the probes of pods and applies their results: a prober.Prober, or another implementation.
// Container IDs begin with the name of the runtime, as in statuses. Calls for one pod come
// one after the other. Calls for different pods are concurrent. No method may block. A panic is
// contained and has no effect, with one exception: after a panic of UpdatePodStatus each container with
// a startup or readiness probe is not ready.
type Prober interface {
	// AddPod starts the probes of a pod. The Syncer calls it in each sync of a pod with probes, before
	// it computes the status. It does nothing for a pod that was added before. It must not change the
	// pod. The commands of exec probes are already expanded.
	AddPod(pod *v1.Pod)
	// UpdatePodStatus sets Started and Ready of each container in a status. The Syncer calls it for
	// each status before it publishes the status, also for pods without probes and after RemovePod. It
	// must not store the arguments.
	UpdatePodStatus(pod *v1.Pod, status *v1.PodStatus)
	// ObserveStatus is called with each published status of a pod with probes. From it the prober reads
	// the running containers, their start times and the addresses of the pod. Before the first AddPod
	// it is called with the status that an earlier process has published, if there is such a status. The
	// status is valid during the call only, and must not be changed.
	ObserveStatus(uid types.UID, status *v1.PodStatus)
	// Failed reports whether a running container has failed its liveness probe or its startup probe.
	// The Syncer calls it in each sync for each running container. It stops a container that has failed
	// one of them. The restart policy decides whether the container starts again.
	Failed(uid types.UID, containerID string) (liveness, startup bool)
	// Started reports whether the startup probe of a running container has succeeded. The Syncer calls
	// it after Failed if the startup probe has not failed. The containers after a sidecar start only
	// when the sidecar is started.
	Started(uid types.UID, containerID string) bool
	// StopLivenessAndStartup stops the liveness and startup probes of a terminating pod. The Syncer
	// calls it in each SyncTerminatingPod.
	StopLivenessAndStartup(uid types.UID)
	// RemovePod stops all probes of a pod. The Syncer calls it when no container of the pod runs,
	// possibly more than once, and also for pods that were never added.
	RemovePod(uid types.UID)
}

// noProbes is the Prober of a Config without one. It does nothing.
type noProbes struct{}

func (noProbes) AddPod(*v1.Pod)                         {}
func (noProbes) UpdatePodStatus(*v1.Pod, *v1.PodStatus) {}
func (noProbes) ObserveStatus(types.UID, *v1.PodStatus) {}
func (noProbes) Failed(types.UID, string) (_, _ bool)   { return false, false }
func (noProbes) Started(types.UID, string) bool         { return false }
func (noProbes) StopLivenessAndStartup(types.UID)       {}
func (noProbes) RemovePod(types.UID)                    {}

// guardedProbes calls a Prober and contains its panics.
type guardedProbes struct {
	inner Prober
	guard *contain.Guard
}

func (p guardedProbes) AddPod(pod *v1.Pod) {
	_ = p.guard.Call("Probes.AddPod", func() { p.inner.AddPod(pod) })
}

func (p guardedProbes) UpdatePodStatus(pod *v1.Pod, status *v1.PodStatus) {
	if p.guard.Call("Probes.UpdatePodStatus", func() { p.inner.UpdatePodStatus(pod, status) }) != nil {
		setInitialReadinessOfProbedContainers(pod, status)
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

func (p guardedProbes) Started(uid types.UID, containerID string) (started bool) {
	_ = p.guard.Call("Probes.Started", func() { started = p.inner.Started(uid, containerID) })
	return started
}

func (p guardedProbes) StopLivenessAndStartup(uid types.UID) {
	_ = p.guard.Call("Probes.StopLivenessAndStartup", func() { p.inner.StopLivenessAndStartup(uid) })
}

func (p guardedProbes) RemovePod(uid types.UID) {
	_ = p.guard.Call("Probes.RemovePod", func() { p.inner.RemovePod(uid) })
}

// setInitialReadinessOfProbedContainers sets Started and Ready in the status of each container that has a startup or
// readiness probe to the values before the first probe result. It changes no other container.
func setInitialReadinessOfProbedContainers(pod *v1.Pod, status *v1.PodStatus) {
	for _, list := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			if c := podspec.FindContainer(podspec.LongRunningContainers(pod), list[i].Name); c != nil {
				podstatus.SetUnprobed(c, &list[i])
			}
		}
	}
}
