package metrics

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// requests are the metrics of requests to an API server.
type requests struct {
	clock    clock.PassiveClock
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newRequests(f *factory, now clock.PassiveClock) requests {
	return requests{
		clock:    now,
		total:    f.counters("rest_client_requests_total", "Requests to the API server, by their answer; <error>: there was none.", "code", "method", "host"),
		duration: f.histograms("rest_client_request_duration_seconds", "Time until the answer to a request to the API server began.", requestBuckets, "verb", "host"),
	}
}

// noAnswer is the code of a request that was not answered, as of client-go.
const noAnswer = "<error>"

// RoundTripper counts the requests that go through next to an API server. It is what a
// rest.Config wraps its transport with: cfg.Wrap(m.RoundTripper).
func (m *Metrics) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return &countingTransport{next, m.requests}
}

// countingTransport counts requests.
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
