package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/metrics"
	"github.com/podkeel/podkeel/syncloop/node"
)

// TestEvictions: pods are counted by the signal or the limit of local storage. Only a signal has an age. A shorter grace
// period is no eviction.
func TestEvictions(t *testing.T) {
	var config node.Config
	m := metrics.New(metrics.Config{})
	m.Instrument(&config)
	pressure := eviction.Victim{Cause: "memory.available", Condition: &v1.PodCondition{}, StatsAge: 20 * time.Millisecond}
	shortened := pressure
	shortened.Shortens = true
	for _, v := range []eviction.Victim{
		pressure, shortened, pressure, {Cause: eviction.CauseEmptyDirLimit}, {Cause: eviction.CausePodLimit}, {Cause: eviction.CauseContainerLimit}, {Cause: eviction.CausePodLimit},
	} {
		config.Hooks.Evictor.Evicted(v)
	}
	require.NoError(t, testutil.CollectAndCompare(m, strings.NewReader(`
# HELP kubelet_eviction_stats_age_seconds Age of the measurement for which a pod was evicted, by signal.
# TYPE kubelet_eviction_stats_age_seconds histogram
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="0.005"} 0
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="0.01"} 0
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="0.025"} 2
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="0.05"} 2
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="0.1"} 2
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="0.25"} 2
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="0.5"} 2
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="1"} 2
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="2.5"} 2
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="5"} 2
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="10"} 2
kubelet_eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="+Inf"} 2
kubelet_eviction_stats_age_seconds_sum{eviction_signal="memory.available"} 0.04
kubelet_eviction_stats_age_seconds_count{eviction_signal="memory.available"} 2
# HELP kubelet_evictions Pods that the node has evicted, by the signal or the limit of local storage.
# TYPE kubelet_evictions counter
kubelet_evictions{eviction_signal="emptydirfs.limit"} 1
kubelet_evictions{eviction_signal="ephemeralcontainerfs.limit"} 1
kubelet_evictions{eviction_signal="ephemeralpodfs.limit"} 2
kubelet_evictions{eviction_signal="memory.available"} 2
`), "kubelet_evictions", "kubelet_eviction_stats_age_seconds"))
}
