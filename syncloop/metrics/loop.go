package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
)

// loop are the metrics of the sync loop, of admission and of the sources of pods.
type loop struct {
	housekeeping  prometheus.Observer
	errors        prometheus.Counter
	rejections    *prometheus.CounterVec
	panics        *prometheus.CounterVec
	invalid       *prometheus.CounterVec
	sourceErrors  *prometheus.CounterVec
	interruptions prometheus.Counter
}

func newLoop(f *factory) loop {
	return loop{
		housekeeping:  f.histogram("podkeel_housekeeping_duration_seconds", "Duration of a housekeeping of the sync loop.", prometheus.DefBuckets),
		errors:        f.counter("podkeel_housekeeping_errors_total", "Housekeepings of the sync loop that failed."),
		rejections:    f.counters("kubelet_admission_rejections_total", "Pods that admission has rejected, by reason.", "reason"),
		panics:        f.counters("podkeel_panics_total", "Panics that were contained, by the call.", "call"),
		invalid:       f.counters("podkeel_source_rejected_pods_total", "Pods of sources that could not be delivered.", "source"),
		sourceErrors:  f.counters("podkeel_source_errors_total", "Failures of sources of pods.", "source"),
		interruptions: f.counter("podkeel_process_stops_total", "Times that the process was found to have been stopped for a while."),
	}
}

// knownRejectReasons are the reasons of admission that have a metric of their own.
var knownRejectReasons = []string{
	"AppArmor", "PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported", "InvalidNodeInfo", "InitContainerRestartPolicyForbidden",
	"UnexpectedAdmissionError", "UnknownReason", "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods", "NodeAffinity", "NodeName",
	"NodePorts", "NodeUnschedulable", "Evicted", "SysctlForbidden", "TopologyAffinityError", "NodeShutdown",
	"TaintToleration", "NameConflict", "FailedValidation", "UnsupportedField", // This node's own.
}

// extendedResource stands for every resource that nodes can make up.
const extendedResource = "OutOfExtendedResources"

func (l *loop) recordRejection(_ *v1.Pod, reason, _ string) {
	switch {
	case slices.Contains(knownRejectReasons, reason):
	case strings.HasPrefix(reason, "OutOf"):
		reason = extendedResource
	default:
		reason = otherReason
	}
	l.rejections.WithLabelValues(reason).Inc()
}

func (l *loop) recordHousekeeping(took time.Duration, err error) {
	observeDuration(l.housekeeping, took)
	if err != nil {
		l.errors.Inc()
	}
}

func (l *loop) recordPanic(call string, _ error) { l.panics.WithLabelValues(call).Inc() }

func (l *loop) recordInvalidPod(source string, _ *v1.Pod, _ error) {
	l.invalid.WithLabelValues(source).Inc()
}

func (l *loop) recordSourceError(source string, _ error) {
	l.sourceErrors.WithLabelValues(source).Inc()
}

func (l *loop) recordInterruption(time.Duration) { l.interruptions.Inc() }
