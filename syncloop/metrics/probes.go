package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

// probes has the metrics of probes. They have the kubelet's labels, so each pod has its own series until the
// pod is removed.
type probes struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// probeKey identifies a probe of a pod.
type probeKey struct {
	container string
	kind      verdict.Kind
}

// probeMetrics has the metrics of one probe.
type probeMetrics struct {
	results [prober.Failed + 1]prometheus.Counter // nil before the first such result
	total   [len(resultNames)][]string

	// labels are the labels of the duration, which have no UID. Two pods with the same name share the series,
	// and the removal of one of them deletes it. So each probe looks the series up again.
	labels []string
}

var resultNames = [prober.Failed + 1]string{0: "unknown", prober.Passed: "successful", prober.Warned: "successful", prober.Failed: "failed"}

// newProbeMetrics creates and registers the metrics of probes.
func newProbeMetrics(f *factory) probes {
	return probes{
		total:    f.counterVec("prober_probe_total", "Attempts of probes, by result.", "probe_type", "result", "container", "pod", "namespace", "pod_uid"),
		duration: f.histogramVec("prober_probe_duration_seconds", "Duration of attempts of probes that did not fail.", prometheus.DefBuckets, "probe_type", "container", "pod", "namespace"),
	}
}

// recordProbe counts one attempt of a probe by its result. Unless the probe failed, it also adds the duration
// to a histogram. It ignores a pod that is not tracked and, as the kubelet does, an attempt with an error or an
// unknown result.
func (m *Metrics) recordProbe(a prober.Attempt) {
	if int(a.Result) >= len(resultNames) || a.Err != nil {
		return
	}
	m.pods.callWithTrackedPod(a.UID, func(one *pod) {
		p := m.probes.ensureMetrics(one, probeKey{a.Container, a.Kind})
		if p.results[a.Result] == nil {
			p.results[a.Result] = m.probes.total.WithLabelValues(p.total[a.Result]...)
		}
		p.results[a.Result].Inc()
		if a.Result != prober.Failed {
			observeDuration(m.probes.duration.WithLabelValues(p.labels...), a.Took)
		}
	})
}

// ensureMetrics returns the label values of a probe and its counters made so far. It creates them if they are
// missing.
func (p *probes) ensureMetrics(tracked *pod, key probeKey) *probeMetrics {
	if found := tracked.probes[key]; found != nil {
		return found
	}
	made := &probeMetrics{labels: []string{key.kind.String(), key.container, tracked.pod.Name, tracked.pod.Namespace}}
	for result, name := range resultNames {
		made.total[result] = []string{key.kind.String(), name, key.container, tracked.pod.Name, tracked.pod.Namespace, string(tracked.pod.UID)}
	}
	if tracked.probes == nil {
		tracked.probes = make(map[probeKey]*probeMetrics)
	}
	tracked.probes[key] = made
	return made
}

// deletePodSeries deletes the time series of the probes of a removed pod.
func (p *probes) deletePodSeries(gone *pod) {
	for _, one := range gone.probes {
		p.duration.DeleteLabelValues(one.labels...)
		for _, labels := range one.total {
			p.total.DeleteLabelValues(labels...)
		}
	}
}
