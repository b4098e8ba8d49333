package nodetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestBackoff_RS11_IM4_PerNode: what a node's configuration says of restarts holds for
// restarts, and what it says of pulls for pulls.
func TestBackoff_RS11_IM4_PerNode(t *testing.T) {
	const kubelet = "10s 20s 40s 1m20s 2m40s 5m0s"
	for _, tc := range []struct {
		name            string
		config          node.Config
		restarts, pulls string // the delays before them
	}{
		{"the kubelet's", node.Config{}, kubelet, kubelet},
		{"restarts at least once in a minute", node.Config{CrashLoop: backoff.CrashLoop{Max: time.Minute}}, "10s 20s 40s 1m0s 1m0s 1m0s", kubelet},
		{"pulls sooner", node.Config{ImagePull: backoff.ImagePull{Initial: 2 * time.Second}}, kubelet, "2s 4s 8s 16s 32s 1m4s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			faults, err := faulty.New(faulty.Config{Rules: []faulty.Rule{{Verb: faulty.PullImage, Pod: "missing", Do: faulty.Fail}}})
			assert.NoError(t, err)
			b := nodetest.New(t, nodetest.Config{Seed: 1, Node: tc.config, Wrap: faults.Wrap})
			b.Apply(podOf("crash", "run=0s exit=1"))
			b.Apply(podOf("missing", "run=forever"))
			b.Run(30 * time.Minute)
			b.Stop()
			restarts := between(t, b.Transcript(), "pod default/crash", "StartContainer", 7)
			assert.Equal(t, "0s "+tc.restarts, restarts, "the first restart does not wait")
			assert.Equal(t, tc.pulls, between(t, b.Transcript(), "pod default/missing", "event Pulling:", 6))
		})
	}
}

// between lists the first delays between lines of a pod.
func between(t *testing.T, transcript, pod, what string, count int) string {
	var delays []string
	var last time.Duration
	ours := false
	for line := range strings.Lines(transcript) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "pod "):
			ours = strings.HasPrefix(line, pod)
		case ours && len(fields) > 1 && strings.Contains(line, what):
			at, err := time.ParseDuration(fields[0])
			assert.NoError(t, err)
			delays = append(delays, (at - last).String())
			last = at
		}
	}
	return strings.Join(delays[1:min(len(delays), count+1)], " ")
}
