package nodetest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	goruntime "runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podworkers/prober/check"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// applyBadPod gives a node an invalid pod beside a valid one. It prints the error of Apply. If Apply fails, it also prints what
// happens if the pod comes from a source that does not validate. "bad [for=DURATION] [connect]" lets the probes connect
// to ports on which no process listens, and the hooks send requests. In every case the other pod keeps running and the
// invalid one can be removed.
func applyBadPod(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	p := &v1.Pod{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(d.Input), p))
	p.Name, p.Namespace, p.UID = "bad", "default", "bad"
	length := "1m"
	d.MaybeScanArgs(t, "for", &length)
	duration, err := time.ParseDuration(length)
	require.NoError(t, err)
	n := newNeighbourhood(t, d.HasArg("connect"))
	said := ""
	if err := n.b.Node().Apply(p); err != nil {
		require.ErrorIs(t, err, source.ErrInvalid)
		require.NoError(t, n.careless.Apply(p))
		said = "refused: " + err.Error() + "\n"
	} else {
		n.b.Apply(p)
	}
	n.b.Run(duration)
	return said + n.deleteBadPod(t, p.UID)
}

// neighbourhood is a node with a pod that is well and a source that hands over
// whatever the test sets.
type neighbourhood struct {
	b        *nodetest.Simulation
	careless *source.Handle
}

func newNeighbourhood(t *testing.T, connect bool) neighbourhood {
	t.Helper()
	careless := source.NewHandle()
	config := nodetest.Config{Seed: 1, Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"careless": careless}}}}
	if connect {
		refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") }
		config.Node.Probes.Check, config.Node.Containers.HTTP = check.New(check.Config{DialContext: refuse}), deaf{}
		config.Wrap = func(inner runtime.Runtime, _ clock.Clock) runtime.Runtime { return struct{ runtime.Runtime }{inner} }
	}
	b := nodetest.New(t, config)
	b.Apply(newPod("well", []string{"serve"}))
	return neighbourhood{b, careless}
}

// deleteBadPod deletes the bad pod, and returns its part of the transcript.
func (n neighbourhood) deleteBadPod(t *testing.T, uid types.UID) string {
	t.Helper()
	_, rest, _ := strings.Cut(n.b.Transcript(), "pod default/bad\n")
	result, well, _ := strings.Cut(rest, "pod default/well\n")
	assert.Equal(t, undisturbed, well, "the other pod keeps running")
	n.careless.Delete(uid)
	n.b.Delete(uid)
	n.b.Run(time.Hour)
	for _, left := range n.b.Machine().Snapshot() {
		assert.Equal(t, "well", left.Name, "the bad pod can be removed")
	}
	n.b.Stop()
	return result
}

// deaf is an address on which no process listens.
type deaf struct{}

func (deaf) Get(context.Context, string, http.Header) error {
	return errors.New("connection refused")
}

// undisturbed is the transcript of the other pod.
const undisturbed = `        0s  RunSandbox attempt=0
        0s  event Pulling: Pulling image "well:1"
        0s  PullImage well:1
        0s  event Pulled: Successfully pulled image "well:1" in 0s (0s including waiting). Image size: 1048576 bytes.
        0s  CreateContainer c0 attempt=0
        0s  event Created: Container c0 created
        0s  StartContainer c0
        0s  event Started: Container c0 started
        0s  | 1/1 Running restarts=0
`

// largePod returns a pod with one container after a change of its spec.
func largePod(change func(*v1.PodSpec)) *v1.Pod {
	p := newPod("bad", []string{"serve"})
	p.UID = "bad"
	change(&p.Spec)
	return p
}

// shownStatus returns the status of a pod and the texts of its events.
func shownStatus(t *testing.T, b *nodetest.Simulation, uid types.UID) (status v1.PodStatus, events []string) {
	t.Helper()
	for _, p := range b.Node().Pods() {
		if p.UID == uid {
			status = p.Status
		}
	}
	_, rest, _ := strings.Cut(b.Transcript(), "pod default/bad\n")
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "pod ") {
			break
		}
		if _, event, ok := strings.Cut(strings.TrimSpace(line), "  event "); ok {
			require.LessOrEqual(t, len(event), 1100)
			events = append(events, event)
		}
	}
	return status, events
}

// TestLarge_AnswerOfARegistry: a registry may answer with a whole page, and not
// only in text. Status and events tell its beginning.
func TestLarge_AnswerOfARegistry(t *testing.T) {
	n := newNeighbourhood(t, false)
	n.b.Machine().FailPulls("bad:1", errors.New("a"+strings.Repeat("é", 1<<19)+"\xff"))
	n.b.Apply(largePod(func(*v1.PodSpec) {}))
	n.b.Run(time.Second)
	status, events := shownStatus(t, n.b, "bad")
	assert.Equal(t, `Failed: Failed to pull image "bad:1": image bad:1: image cannot be pulled: aé`, events[1][:78])
	for _, text := range append(events, status.ContainerStatuses[0].State.Waiting.Message) {
		assert.True(t, utf8.ValidString(text))
	}
	assert.Equal(t, "ErrImagePull", status.ContainerStatuses[0].State.Waiting.Reason)
	assert.InDelta(t, 1024, len(status.ContainerStatuses[0].State.Waiting.Message), 2)
	n.deleteBadPod(t, "bad")
}

// TestLarge_F13_ThousandContainers run, beside a pod that is well, and end.
func TestLarge_F13_ThousandContainers(t *testing.T) {
	n := newNeighbourhood(t, false)
	n.b.Apply(largePod(func(s *v1.PodSpec) {
		for i := range 999 {
			s.Containers = append(s.Containers, v1.Container{Name: fmt.Sprintf("more-%d", i), Image: "bad:1", Command: []string{"serve"}})
		}
	}))
	n.b.Run(time.Minute)
	status, _ := shownStatus(t, n.b, "bad")
	assert.Len(t, status.ContainerStatuses, 1000)
	for i := range status.ContainerStatuses {
		assert.True(t, status.ContainerStatuses[i].Ready)
	}
	steps := n.b.Steps()
	assert.Less(t, steps, 10_000, "steps until all run")
	n.b.Run(time.Hour)
	n.deleteBadPod(t, "bad")
	assert.Less(t, n.b.Steps()-steps, 10_000, "steps of an hour and of the end")
}

// TestLarge_HundredInitContainers go one after the other, each once.
func TestLarge_HundredInitContainers(t *testing.T) {
	n := newNeighbourhood(t, false)
	n.b.Apply(largePod(func(s *v1.PodSpec) {
		for i := range 100 {
			s.InitContainers = append(s.InitContainers, v1.Container{Name: fmt.Sprintf("step-%d", i), Image: "bad:1", Command: []string{"sleep", "1"}})
		}
	}))
	n.b.Run(99900 * time.Millisecond)
	status, _ := shownStatus(t, n.b, "bad")
	assert.Equal(t, v1.PodPending, status.Phase)
	n.b.Run(time.Second)
	status, events := shownStatus(t, n.b, "bad")
	assert.Equal(t, v1.PodRunning, status.Phase)
	for i := range status.InitContainerStatuses {
		assert.Zero(t, status.InitContainerStatuses[i].RestartCount)
	}
	assert.Equal(t, "Started: Container step-99 started", events[len(events)-4])
	n.deleteBadPod(t, "bad")
}

// TestLarge_F8_DoublingValues: what would have 2^60 bytes is not made.
func TestLarge_F8_DoublingValues(t *testing.T) {
	n := newNeighbourhood(t, false)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	n.b.Apply(largePod(func(s *v1.PodSpec) {
		env := []v1.EnvVar{{Name: "V0", Value: "0123456789"}}
		for i := range 57 {
			env = append(env, v1.EnvVar{Name: fmt.Sprintf("V%d", i+1), Value: fmt.Sprintf("$(V%d)$(V%d)", i, i)})
		}
		s.Containers[0].Env = env
	}))
	n.b.Run(time.Second)
	goruntime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
	status, events := shownStatus(t, n.b, "bad")
	const why = "container c0: variable V16: larger than 1048576 bytes"
	assert.Equal(t, v1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: why}, *status.ContainerStatuses[0].State.Waiting)
	assert.Contains(t, events, "Failed: Error: "+why)
	n.deleteBadPod(t, "bad")
}

// TestLarge_ThousandFaults are refused, with as many of them as can be read.
func TestLarge_ThousandFaults(t *testing.T) {
	for name, c := range map[string]struct {
		pod    *v1.Pod
		reason string
	}{
		"mounts of volumes that there are not": {largePod(func(s *v1.PodSpec) {
			for i := range 1000 {
				s.Containers[0].VolumeMounts = append(s.Containers[0].VolumeMounts, v1.VolumeMount{Name: "nowhere", MountPath: fmt.Sprint("/", i)})
			}
		}), "FailedValidation"},
		"volumes that cannot be had": {largePod(func(s *v1.PodSpec) {
			for i := range 1000 {
				s.Volumes = append(s.Volumes, v1.Volume{Name: fmt.Sprint("v", i), VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "x"}}})
			}
		}), "UnsupportedField"},
		"a long name":        {largePod(func(s *v1.PodSpec) { s.Containers[0].Name = strings.Repeat("c", 1<<20) }), "FailedValidation"},
		"a large annotation": {annotatedPod(strings.Repeat("x", 1<<20)), "FailedValidation"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNeighbourhood(t, false)
			if err := n.b.Node().Apply(c.pod); err != nil {
				assert.Less(t, len(err.Error()), 20_000)
				require.ErrorIs(t, err, source.ErrInvalid)
				require.NoError(t, n.careless.Apply(c.pod))
			}
			n.b.Run(time.Minute)
			status, events := shownStatus(t, n.b, "bad")
			assert.Equal(t, v1.PodFailed, status.Phase)
			assert.Equal(t, c.reason, status.Reason)
			assert.LessOrEqual(t, len(status.Message), 1024)
			assert.Len(t, events, 1)
			n.deleteBadPod(t, "bad")
		})
	}
}

func annotatedPod(value string) *v1.Pod {
	p := largePod(func(*v1.PodSpec) {})
	p.Annotations = map[string]string{"note": value}
	return p
}

// TestBad_Replaced: a careless source replaces a running pod by an invalid one. The running pod stops, because it is no
// longer desired. The invalid pod is rejected, and the source can correct it.
func TestBad_Replaced(t *testing.T) {
	n := newNeighbourhood(t, false)
	require.NoError(t, n.careless.Apply(largePod(func(*v1.PodSpec) {})))
	n.b.Run(5 * time.Second)
	require.NoError(t, n.careless.Apply(largePod(func(s *v1.PodSpec) { s.Containers = nil })))
	n.b.Run(20 * time.Second)
	status, events := shownStatus(t, n.b, "bad")
	assert.Equal(t, []string{
		"FailedValidation: the pod cannot be run as it is: spec.containers: missing: expected at least one container",
		"Killing: Stopping container c0: the pod ends",
	}, events[len(events)-2:])
	assert.Equal(t, v1.PodFailed, status.Phase)
	assert.Equal(t, "Pod was rejected: the pod cannot be run as it is: spec.containers: missing: expected at least one container", status.Message)
	require.NoError(t, n.careless.Apply(largePod(func(s *v1.PodSpec) { s.Containers[0].Image = "bad:2" })))
	n.b.Run(20 * time.Second)
	status, _ = shownStatus(t, n.b, "bad")
	assert.Equal(t, v1.PodRunning, status.Phase)
	n.deleteBadPod(t, "bad")
}
