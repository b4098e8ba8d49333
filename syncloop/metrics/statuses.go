package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status"
)

// statuses are the metrics of statuses and of their way to the API server.
type statuses struct {
	results                                 *prometheus.CounterVec
	acceptedTotal, unchangedTotal, refusals prometheus.Counter
	sync                                    prometheus.Observer
	failures                                *prometheus.CounterVec
}

func newStatuses(f *factory) statuses {
	s := statuses{
		results:  f.counters("podkeel_pod_statuses_total", "Statuses of pods that were reported to the store, by what became of them.", "result"),
		sync:     f.histogram("kubelet_pod_status_sync_duration_seconds", "Time from the change of a status to its arrival at the API server.", sendBuckets),
		failures: f.counters("podkeel_pod_status_send_errors_total", "Statuses that did not arrive, by whether they are sent again.", "retried"),
	}
	s.acceptedTotal, s.unchangedTotal, s.refusals = s.results.WithLabelValues("accepted"), s.results.WithLabelValues("unchanged"), s.results.WithLabelValues("refused")
	return s
}

func (s *statuses) recordAccepted(types.UID, uint64) { s.acceptedTotal.Inc() }

func (s *statuses) recordUnchanged(types.UID) { s.unchangedTotal.Inc() }

func (s *statuses) recordRefused(types.UID, error) { s.refusals.Inc() }

func (s *statuses) recordSendFailure(_ status.Update, _ error, pause time.Duration) {
	retried := "true"
	if pause == 0 {
		retried = "false"
	}
	s.failures.WithLabelValues(retried).Inc()
}
