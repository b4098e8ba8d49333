package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

// startMetrics has the metrics of pod starts and of container terminations.
type startMetrics struct {
	running, total, sli prometheus.Observer
	containers          prometheus.Observer
	pull                *prometheus.HistogramVec
	terminated          *prometheus.CounterVec
}

// newStartMetrics creates and registers the metrics of pod starts, of image pull durations and of terminated
// containers.
func newStartMetrics(f *factory) startMetrics {
	return startMetrics{
		running:    f.histogram("kubelet_pod_start_duration_seconds", "Time from when the node first saw a pod to all its containers running.", startBuckets),
		total:      f.histogram("kubelet_pod_start_total_duration_seconds", "Time from the creation of a pod to the API server knowing that all its containers run.", startBuckets),
		sli:        f.histogram("kubelet_pod_start_sli_duration_seconds", "Time from the creation of a pod to the API server knowing that all its containers run, without pulls of images and init containers.", startBuckets),
		containers: f.histogram("kubelet_containers_per_pod_count", "Number of containers of a pod, when it starts.", countBuckets),
		pull:       f.histogramVec("kubelet_image_pull_duration_seconds", "Duration of pulls of images that succeeded, including the wait for other pulls, by the size of the image.", pullBuckets, "image_size_in_bytes"),
		terminated: f.counterVec("kubelet_terminated_containers_total", "Containers that have terminated.", "container_type", "exit_code", "reason"),
	}
}

// observePullAndStoreSpanForStart adds the duration of a successful image pull to a histogram. For a tracked
// pod whose start has not been measured it also stores the time span of the pull.
func (m *Metrics) observePullAndStoreSpanForStart(p podsync.ImagePull) {
	now := m.clock.Now()
	observeDuration(m.starts.pull.WithLabelValues(imageSizeLabel(p.SizeBytes)), p.Waited)
	m.pods.callWithTrackedPod(p.UID, func(one *pod) {
		if !one.reachedServer {
			one.pulls = append(one.pulls, span{now.Add(-p.Waited), now})
		}
	})
}

// recordStartMetricsOfStatus handles a status that the store has accepted. For a new pod it records the number
// of containers. The first time that all containers run, it records the time since the node first saw the pod.
// It also counts terminated containers. It ignores a pod that is not tracked.
func (m *Metrics) recordStartMetricsOfStatus(spec *v1.Pod, st *v1.PodStatus) {
	now := m.clock.Now()
	known, first := m.pods.trackStartedPod(spec, st)
	if known == nil {
		return
	}
	if first {
		m.starts.containers.Observe(float64(len(spec.Spec.Containers)))
	}
	known.callUnderLock(func(one *pod) {
		if !one.wasRunning && areAllContainersRunning(spec, st) {
			one.wasRunning = true
			if seen, ok := firstSeenTime(spec); ok {
				observeDuration(m.starts.running, now.Sub(seen))
			}
		}
		m.countTerminated(one, spec, st)
	})
}

// recordSentStatus records how long a status took to reach the API server. The first time that a sent status
// has all containers running, it also records the start durations of the pod, unless the pod has no creation
// time or a volume that other components may provide.
func (m *Metrics) recordSentStatus(u status.Update, took time.Duration) {
	observeDuration(m.statuses.sync, took)
	if u.Pod == nil || !areAllContainersRunning(u.Pod, &u.Status) {
		return
	}
	now := m.clock.Now()
	m.pods.callWithTrackedPod(u.UID, func(one *pod) {
		if one.reachedServer || !hasCreationTimeAndOnlyLocalVolumes(u.Pod) {
			return
		}
		one.reachedServer = true
		total := now.Sub(u.Pod.CreationTimestamp.Time)
		observeDuration(m.starts.total, total)
		observeDuration(m.starts.sli, total-unionDuration(one.pulls)-initContainersDuration(u.Pod, &u.Status))
		one.pulls = nil
	})
}

// areAllContainersRunning reports whether every regular container of the pod runs. It returns false if the
// status has no running container.
func areAllContainersRunning(pod *v1.Pod, st *v1.PodStatus) bool {
	running := 0
	for i := range st.ContainerStatuses {
		if st.ContainerStatuses[i].State.Running != nil {
			running++
		}
	}
	return running > 0 && running == len(pod.Spec.Containers)
}

// hasCreationTimeAndOnlyLocalVolumes reports whether the pod has a creation time, and no volumes except
// Secrets, ConfigMaps, downwardAPI, emptyDir and projected volumes. Only the start of such a pod counts for the
// start SLI.
func hasCreationTimeAndOnlyLocalVolumes(pod *v1.Pod) bool {
	return !pod.CreationTimestamp.IsZero() && !slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.Secret == nil && v.ConfigMap == nil && v.DownwardAPI == nil && v.EmptyDir == nil && v.Projected == nil
	})
}

// unionDuration returns the total time that at least one of the spans covers. It sorts the spans in place.
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

// initContainersDuration returns the sum of the run times of the terminated init containers, without sidecars.
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
