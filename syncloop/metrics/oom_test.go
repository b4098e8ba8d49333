package metrics_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/syncloop/metrics"
	"github.com/podkeel/podkeel/syncloop/node"
)

// TestOOMKills: containers that lost a process are counted by the limit that was reached.
func TestOOMKills(t *testing.T) {
	var config node.Config
	m := metrics.New(metrics.Config{})
	m.Instrument(&config)
	for _, limit := range []plan.OOMLimit{plan.OOMLimitPod, plan.OOMLimitContainer, plan.OOMLimitPod, plan.OOMLimitUnknown} {
		config.Hooks.Syncer.OOMKilled(podsync.OOMReport{UID: "u", Container: "c", Limit: limit, Kills: 3})
	}
	require.NoError(t, testutil.CollectAndCompare(m, strings.NewReader(`
# HELP podkeel_container_oom_kills_total Containers that lost a process to the kernel because memory ran out, by the limit that was reached.
# TYPE podkeel_container_oom_kills_total counter
podkeel_container_oom_kills_total{limit="container"} 1
podkeel_container_oom_kills_total{limit="pod"} 2
podkeel_container_oom_kills_total{limit="unknown"} 1
`), "podkeel_container_oom_kills_total"))
}
