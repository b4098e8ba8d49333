package metrics

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// requests has the metrics of requests to an API server.
type requests struct {
	clock    clock.PassiveClock
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// newRequestMetrics creates and registers the metrics of requests to an API server.
func newRequestMetrics(f *factory, now clock.PassiveClock) requests {
	return requests{
		clock:    now,
		total:    f.counterVec("rest_client_requests_total", "Requests to the API server, by the status code of the answer; <error> if there was no answer.", "code", "method", "host"),
		duration: f.histogramVec("rest_client_request_duration_seconds", "Time until the answer to a request to the API server began.", requestBuckets, "verb", "host"),
	}
}

// noAnswer is the code of a request without an answer, as in client-go.
const noAnswer = "<error>"

// RoundTripper returns a transport that counts requests and sends them through next. Use it to wrap the
// transport of a rest.Config: cfg.Wrap(m.RoundTripper).
func (m *Metrics) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return &countingTransport{next, m.requests}
}

// countingTransport is a transport that counts requests.
type countingTransport struct {
	next    http.RoundTripper
	metrics requests
}

// RoundTrip implements http.RoundTripper.
func (c *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	begun, host := c.metrics.clock.Now(), r.URL.Host
	answer, err := c.next.RoundTrip(r)
	observeDuration(c.metrics.duration.WithLabelValues(r.Method, host), c.metrics.clock.Since(begun))
	code := noAnswer
	if err == nil {
		code = strconv.Itoa(answer.StatusCode)
	}
	c.metrics.total.WithLabelValues(code, r.Method, host).Inc()
	return answer, err
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (c *countingTransport) WrappedRoundTripper() http.RoundTripper { return c.next }
