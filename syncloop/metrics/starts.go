package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

// starts are the metrics of how long pods take until they run, and of how they end.
type starts struct {
	running, total, sli prometheus.Observer
	containers          prometheus.Observer
	pull                *prometheus.HistogramVec
	terminated          *prometheus.CounterVec
}

func newStarts(f *factory) starts {
	return starts{
		running:    f.histogram("kubelet_pod_start_duration_seconds", "Time from when the node first saw a pod to all its containers running.", startBuckets),
		total:      f.histogram("kubelet_pod_start_total_duration_seconds", "Time from the creation of a pod to the API server knowing that all its containers run.", startBuckets),
		sli:        f.histogram("kubelet_pod_start_sli_duration_seconds", "Time from the creation of a pod to the API server knowing that all its containers run, without pulls of images and init containers.", startBuckets),
		containers: f.histogram("kubelet_containers_per_pod_count", "Number of containers of a pod, when it starts.", countBuckets),
		pull:       f.histograms("kubelet_image_pull_duration_seconds", "Duration of pulls of images that succeeded, including the wait for other pulls, by the size of the image.", pullBuckets, "image_size_in_bytes"),
		terminated: f.counters("kubelet_terminated_containers_total", "Containers that have ended.", "container_type", "exit_code", "reason"),
	}
}

// imagePulled follows each pull for a container that succeeded.
func (m *Metrics) imagePulled(p podsync.ImagePull) {
	now := m.clock.Now()
	observe(m.starts.pull.WithLabelValues(imageSize(p.SizeBytes)), p.Waited)
	m.pods.change(p.UID, func(one *pod) {
		if !one.seen {
			one.pulls = append(one.pulls, span{now.Add(-p.Waited), now})
		}
	})
}

// status follows each status that was accepted.
func (m *Metrics) status(of *v1.Pod, st *v1.PodStatus) {
	now := m.clock.Now()
	known, first := m.pods.enter(of, st)
	if known == nil {
		return
	}
	if first {
		m.starts.containers.Observe(float64(len(of.Spec.Containers)))
	}
	known.change(func(one *pod) {
		if !one.running && allRunning(of, st) {
			one.running = true
			if seen, ok := firstSeen(of); ok {
				observe(m.starts.running, now.Sub(seen))
			}
		}
		m.countTerminated(one, of, st)
	})
}

// sent follows each status that has arrived at the API server.
func (m *Metrics) sent(u status.Update, took time.Duration) {
	observe(m.statuses.sync, took)
	if u.Pod == nil || !allRunning(u.Pod, &u.Status) {
		return
	}
	now := m.clock.Now()
	m.pods.change(u.UID, func(one *pod) {
		if one.seen || !measured(u.Pod) {
			return
		}
		one.seen = true
		total := now.Sub(u.Pod.CreationTimestamp.Time)
		observe(m.starts.total, total)
		observe(m.starts.sli, total-covered(one.pulls)-initialized(u.Pod, &u.Status))
		one.pulls = nil
	})
}

// allRunning: each container of the pod runs.
func allRunning(pod *v1.Pod, st *v1.PodStatus) bool {
	running := 0
	for i := range st.ContainerStatuses {
		if st.ContainerStatuses[i].State.Running != nil {
			running++
		}
	}
	return running > 0 && running == len(pod.Spec.Containers)
}

// measured: the start of the pod counts. One with volumes that others bring does not, nor
// does one whose creation nobody has noted.
func measured(pod *v1.Pod) bool {
	return !pod.CreationTimestamp.IsZero() && !slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.Secret == nil && v.ConfigMap == nil && v.DownwardAPI == nil && v.EmptyDir == nil && v.Projected == nil
	})
}

// covered is how long any of the spans lasted: time that is in several counts once.
func covered(spans []span) (sum time.Duration) {
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

// initialized is how long the ordinary init containers ran.
func initialized(pod *v1.Pod, st *v1.PodStatus) (sum time.Duration) {
	for _, c := range st.InitContainerStatuses {
		i := slices.IndexFunc(pod.Spec.InitContainers, func(s v1.Container) bool { return s.Name == c.Name })
		sidecar := i >= 0 && pod.Spec.InitContainers[i].RestartPolicy != nil && *pod.Spec.InitContainers[i].RestartPolicy == v1.ContainerRestartPolicyAlways
		if t := c.State.Terminated; t != nil && !sidecar {
			sum += t.FinishedAt.Sub(t.StartedAt.Time)
		}
	}
	return sum
}
