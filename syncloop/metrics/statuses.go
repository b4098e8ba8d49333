package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status"
)

// statuses has the metrics of pod statuses and of their delivery to the API server.
type statuses struct {
	results                                 *prometheus.CounterVec
	acceptedTotal, unchangedTotal, refusals prometheus.Counter
	sync                                    prometheus.Observer
	failures                                *prometheus.CounterVec
}

// newStatusMetrics creates and registers the metrics of pod statuses.
func newStatusMetrics(f *factory) statuses {
	s := statuses{
		results:  f.counterVec("podkeel_pod_statuses_total", "Statuses of pods that were reported to the store, by result.", "result"),
		sync:     f.histogram("kubelet_pod_status_sync_duration_seconds", "Time from the change of a status to its arrival at the API server.", sendBuckets),
		failures: f.counterVec("podkeel_pod_status_send_errors_total", "Statuses that did not arrive, by whether they are sent again.", "retried"),
	}
	s.acceptedTotal, s.unchangedTotal, s.refusals = s.results.WithLabelValues("accepted"), s.results.WithLabelValues("unchanged"), s.results.WithLabelValues("refused")
	return s
}

// countAccepted counts a status that the store has accepted.
func (s *statuses) countAccepted(types.UID, uint64) { s.acceptedTotal.Inc() }

// countUnchanged counts a status that equals the stored one.
func (s *statuses) countUnchanged(types.UID) { s.unchangedTotal.Inc() }

// countRefused counts a status that the store has refused.
func (s *statuses) countRefused(types.UID, error) { s.refusals.Inc() }

// countSendFailure counts a status that did not reach the API server, by whether it is sent again. pause is the
// time until then; zero means that it is not sent again.
func (s *statuses) countSendFailure(_ status.Update, _ error, pause time.Duration) {
	retried := "true"
	if pause == 0 {
		retried = "false"
	}
	s.failures.WithLabelValues(retried).Inc()
}
