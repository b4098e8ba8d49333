package command

import (
	"net/http"

	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/syncloop/metrics"
)

// Metrics holds the metrics of the node of a program, and their HTTP handlers.
type Metrics struct {
	*metrics.Metrics
	All, Resources http.Handler
}

// NewMetrics returns the metrics for the only node of a program.
func NewMetrics() (*Metrics, error) {
	m := &Metrics{Metrics: metrics.New(metrics.Config{})}
	var err error
	if m.All, err = metrics.Handler(m.Metrics); err != nil {
		return nil, err
	}
	m.Resources, err = metrics.ResourceHandler(metrics.NewResources(metrics.Config{}, m.Metrics))
	return m, err
}

// CRI returns the hooks for a CRI runtime; nil Metrics return no hooks.
func (m *Metrics) CRI() cri.Hooks {
	if m == nil {
		return cri.Hooks{}
	}
	return cri.Hooks{
		Called: m.RecordRuntimeCall, Connected: m.RecordRuntimeConnection,
		Skipped: func(s cri.Skipped) { m.RecordSkipped(s.Kind) },
	}
}
