package nodetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestBackoff_RS11_IM4_PerNode: the node's configuration of restart delays applies to restarts, and its configuration
// of pull delays applies to pulls.
func TestBackoff_RS11_IM4_PerNode(t *testing.T) {
	const kubelet = "10s 20s 40s 1m20s 2m40s 5m0s"
	for _, tc := range []struct {
		name            string
		config          node.Config
		restarts, pulls string // the delays before them
	}{
		{"the kubelet's", node.Config{}, kubelet, kubelet},
		{"restarts at least once in a minute", node.Config{Containers: node.ContainersConfig{CrashLoop: backoff.CrashLoop{Max: time.Minute}}}, "10s 20s 40s 1m0s 1m0s 1m0s", kubelet},
		{"pulls sooner", node.Config{Images: node.ImagesConfig{Backoff: backoff.ImagePull{Initial: 2 * time.Second}}}, kubelet, "2s 4s 8s 16s 32s 1m4s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			faults, err := faulty.New(faulty.Config{Rules: []faulty.Rule{{Verb: faulty.PullImage, Pod: "missing", Do: faulty.Fail}}})
			assert.NoError(t, err)
			b := nodetest.New(t, nodetest.Config{Seed: 1, Node: tc.config, Wrap: faults.Wrap})
			b.Apply(podOf("crash", "run=0s exit=1"))
			b.Apply(podOf("missing", "run=forever"))
			b.Run(30 * time.Minute)
			b.Stop()
			restarts := delaysBetween(t, b.Transcript(), "pod default/crash", "StartContainer", 7)
			assert.Equal(t, "0s "+tc.restarts, restarts, "the first restart does not wait")
			assert.Equal(t, tc.pulls, delaysBetween(t, b.Transcript(), "pod default/missing", "event Pulling:", 6))
		})
	}
}

// delaysBetween returns the first delays between lines of a pod in the transcript.
func delaysBetween(t *testing.T, transcript, pod, what string, count int) string {
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

// TestBackoff_SL31_TheNextTryIsWhenItIsSaid: four seconds after the end of a container that
// crashes, its status, the event, and the page of the pod name one time of the next try, and
// the container starts then, whatever chance adds to other retries. A delay that is longer
// than the resync interval is said in one piece too.
func TestBackoff_SL31_TheNextTryIsWhenItIsSaid(t *testing.T) {
	chance := func() float64 { return 0.999 }
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Jitter: chance}})
	b.Apply(newPod("web", []string{"sh", "-c", "sleep 2; exit 3"}))
	waits := func() (message string) {
		p, ok := b.Node().Pod("uid-web")
		require.True(t, ok)
		require.NotNil(t, p.Status.ContainerStatuses[0].State.Waiting)
		return p.Status.ContainerStatuses[0].State.Waiting.Message
	}
	started := func() int32 {
		p, _ := b.Node().Pod("uid-web")
		return p.Status.ContainerStatuses[0].RestartCount
	}
	b.Run(8 * time.Second) // It ended at 2 s, started at once, and ended at 4 s.
	until := b.Now().Add(6 * time.Second)
	assert.Equal(t, "back-off 10s restarting failed container=c0 pod=web_default(uid-web), next try at "+until.UTC().Format(time.RFC3339), waits())
	assert.Contains(t, b.Transcript(), "4s  event BackOff: Back-off restarting failed container c0 in pod web_default, next try in 10s\n")
	assert.Equal(t, `default/web is Running: container "c0" waits: CrashLoopBackOff, next try in 6s: it terminated with exit code 3 (Error)`, explanationSentence(t, b, "uid-web"))
	e, _ := b.Node().Explain("uid-web")
	assert.Equal(t, until, e.Next.At)
	b.Run(6*time.Second - time.Millisecond)
	assert.Equal(t, int32(1), started())
	b.Run(2 * time.Millisecond)
	assert.Equal(t, int32(2), started())

	b.Run(4 * time.Minute) // It ended at 2m44s after a delay of 80 s, and waits for 160 s: until 5m24s.
	message := waits()
	assert.Contains(t, message, "back-off 2m40s ")
	at, err := time.Parse(time.RFC3339, message[len(message)-len(time.RFC3339)+5:])
	require.NoError(t, err, message)
	before := started()
	b.Run(at.Sub(b.Now()) - time.Millisecond)
	assert.Equal(t, before, started())
	b.Run(2 * time.Millisecond)
	assert.Equal(t, before+1, started())
	b.Stop()
}

// TestBackoff_RS9_LivenessFailsAgainAndAgain: a container that the agent has stopped starts again at once, before the
// runtime has a record of its exit. So the delay counts from the exit before that one.
func TestBackoff_RS9_LivenessFailsAgainAndAgain(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := newPod("web", []string{"serve"})
	p.Annotations = map[string]string{"memory.podkeel.dev/c0.liveness": "fail"}
	p.Spec.Containers[0].LivenessProbe = tcpProbe(5)
	b.Apply(p)
	var starts []time.Duration
	began, last := b.Now(), int32(-1)
	for b.Now().Sub(began) < 3*time.Minute {
		if p, ok := b.Node().Pod("uid-web"); ok && len(p.Status.ContainerStatuses) > 0 {
			if c := p.Status.ContainerStatuses[0]; c.State.Running != nil && c.RestartCount != last {
				last = c.RestartCount
				starts = append(starts, b.Now().Sub(began))
			}
		}
		b.Run(500 * time.Millisecond)
	}
	half := 500 * time.Millisecond
	assert.Equal(t, []time.Duration{half, 10 * time.Second, 20 * time.Second, 50 * time.Second, 100 * time.Second}, starts)
	assert.Equal(t, []string{
		"30s  event BackOff: Back-off restarting failed container c0 in pod web_default, next try in 20s",
		"1m0s  event BackOff: Back-off restarting failed container c0 in pod web_default, next try in 40s",
		"1m50s  event BackOff: Back-off restarting failed container c0 in pod web_default, next try in 1m20s",
	}, linesWith(b.Transcript(), "event BackOff"), "once for each wait, and the time of the next start")
	b.Stop()
}
