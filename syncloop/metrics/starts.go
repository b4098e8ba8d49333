package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

// startMetrics are the metrics of how long pods take until they run, and of how they end.
type startMetrics struct {
	running, total, sli prometheus.Observer
	containers          prometheus.Observer
	pull                *prometheus.HistogramVec
	terminated          *prometheus.CounterVec
}

func newStarts(f *factory) startMetrics {
	return startMetrics{
		running:    f.histogram("kubelet_pod_start_duration_seconds", "Time from when the node first saw a pod to all its containers running.", startBuckets),
		total:      f.histogram("kubelet_pod_start_total_duration_seconds", "Time from the creation of a pod to the API server knowing that all its containers run.", startBuckets),
		sli:        f.histogram("kubelet_pod_start_sli_duration_seconds", "Time from the creation of a pod to the API server knowing that all its containers run, without pulls of images and init containers.", startBuckets),
		containers: f.histogram("kubelet_containers_per_pod_count", "Number of containers of a pod, when it starts.", countBuckets),
		pull:       f.histograms("kubelet_image_pull_duration_seconds", "Duration of pulls of images that succeeded, including the wait for other pulls, by the size of the image.", pullBuckets, "image_size_in_bytes"),
		terminated: f.counters("kubelet_terminated_containers_total", "Containers that have ended.", "container_type", "exit_code", "reason"),
	}
}

// recordImagePull follows each pull for a container that succeeded.
func (m *Metrics) recordImagePull(p podsync.ImagePull) {
	now := m.clock.Now()
	observeDuration(m.starts.pull.WithLabelValues(imageSizeLabel(p.SizeBytes)), p.Waited)
	m.pods.updatePod(p.UID, func(one *pod) {
		if !one.reachedServer {
			one.pulls = append(one.pulls, span{now.Add(-p.Waited), now})
		}
	})
}

// recordStatus follows each status that was accepted.
func (m *Metrics) recordStatus(spec *v1.Pod, st *v1.PodStatus) {
	now := m.clock.Now()
	known, first := m.pods.trackPod(spec, st)
	if known == nil {
		return
	}
	if first {
		m.starts.containers.Observe(float64(len(spec.Spec.Containers)))
	}
	known.update(func(one *pod) {
		if !one.wasRunning && areAllContainersRunning(spec, st) {
			one.wasRunning = true
			if seen, ok := firstSeenTime(spec); ok {
				observeDuration(m.starts.running, now.Sub(seen))
			}
		}
		m.countTerminated(one, spec, st)
	})
}

// recordSentStatus follows each status that has arrived at the API server.
func (m *Metrics) recordSentStatus(u status.Update, took time.Duration) {
	observeDuration(m.statuses.sync, took)
	if u.Pod == nil || !areAllContainersRunning(u.Pod, &u.Status) {
		return
	}
	now := m.clock.Now()
	m.pods.updatePod(u.UID, func(one *pod) {
		if one.reachedServer || !countsForStartSLI(u.Pod) {
			return
		}
		one.reachedServer = true
		total := now.Sub(u.Pod.CreationTimestamp.Time)
		observeDuration(m.starts.total, total)
		observeDuration(m.starts.sli, total-unionDuration(one.pulls)-initContainersDuration(u.Pod, &u.Status))
		one.pulls = nil
	})
}

// areAllContainersRunning: each container of the pod runs.
func areAllContainersRunning(pod *v1.Pod, st *v1.PodStatus) bool {
	running := 0
	for i := range st.ContainerStatuses {
		if st.ContainerStatuses[i].State.Running != nil {
			running++
		}
	}
	return running > 0 && running == len(pod.Spec.Containers)
}

// countsForStartSLI: the start of the pod counts. One with volumes that others bring does not, nor
// does one whose creation nobody has noted.
func countsForStartSLI(pod *v1.Pod) bool {
	return !pod.CreationTimestamp.IsZero() && !slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.Secret == nil && v.ConfigMap == nil && v.DownwardAPI == nil && v.EmptyDir == nil && v.Projected == nil
	})
}

// unionDuration is how long any of the spans lasted: time that is in several counts once.
func unionDuration(spans []span) (sum time.Duration) {
	slices.SortStableFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var end time.Time
	for _, s := range spans {
		if s.from.Before(end) {
			s.from = end
		}
		if s.to.After(s.from) {
			sum += s.to.Sub(s.from)
			end = s.to
		}
	}
	return sum
}

// initContainersDuration is how long the ordinary init containers ran.
func initContainersDuration(pod *v1.Pod, st *v1.PodStatus) (sum time.Duration) {
	for _, c := range st.InitContainerStatuses {
		i := slices.IndexFunc(pod.Spec.InitContainers, func(s v1.Container) bool { return s.Name == c.Name })
		sidecar := i >= 0 && pod.Spec.InitContainers[i].RestartPolicy != nil && *pod.Spec.InitContainers[i].RestartPolicy == v1.ContainerRestartPolicyAlways
		if t := c.State.Terminated; t != nil && !sidecar {
			sum += t.FinishedAt.Sub(t.StartedAt.Time)
		}
	}
	return sum
}
