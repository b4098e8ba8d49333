package metrics_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/metrics"
	"github.com/podkeel/podkeel/syncloop/node"
)

// faultySource has a number of faults.
type faultySource int

func (f *faultySource) Run(context.Context, source.Sink) error         { return nil }
func (f *faultySource) Faults() source.Faults                          { return source.Faults{Count: int(*f)} }
func (f *faultySource) FaultOf(types.UID) (fault source.Fault, _ bool) { return fault, false }

// The current faults of manifests are counted by source.
func TestSourceFaults(t *testing.T) {
	m := metrics.New(metrics.Config{})
	files, web := faultySource(3), faultySource(0)
	config := node.Config{Runtime: memory.New(memory.Config{}), Pods: node.PodsConfig{Sources: map[string]source.Source{"file": &files, "http": &web, "mute": source.NewHandle()}}}
	m.Instrument(&config)
	n, err := node.New(config)
	require.NoError(t, err)
	m.Observe(n)
	assert.Equal(t, `# HELP podkeel_source_faults Current faults of the manifests of a source.
# TYPE podkeel_source_faults gauge
podkeel_source_faults{source="file"} 3
podkeel_source_faults{source="http"} 0
`, only(exposition(t, m), "podkeel_source_faults"))
	files = 0
	assert.Contains(t, exposition(t, m), `podkeel_source_faults{source="file"} 0`)
}
