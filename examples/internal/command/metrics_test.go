package command

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime/cri"
)

// What the hooks of a runtime tell is served.
func TestMetrics(t *testing.T) {
	m, err := NewMetrics()
	require.NoError(t, err)
	hooks := m.CRI()
	hooks.Called("RunPodSandbox", time.Second, nil)
	hooks.Connected("containerd", "2.4.2")
	hooks.Skipped(cri.Skipped{Kind: "sandbox"})
	answer := httptest.NewRecorder()
	m.All.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1`, "podkeel_runtime_connections_total 1", `podkeel_runtime_skipped_records_total{kind="sandbox"} 1`,
	} {
		assert.Contains(t, answer.Body.String(), line+"\n")
	}
	answer = httptest.NewRecorder()
	m.Resources.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics/resource", nil))
	assert.Contains(t, answer.Body.String(), "resource_scrape_error 1\n", "there is no node yet")
	assert.Zero(t, (*Metrics)(nil).CRI())
}
