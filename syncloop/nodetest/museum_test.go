package nodetest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// The museum: faults that other node agents have had, each as a story named by the number of
// its public report. MUSEUM.md lists the guard that each story holds: without it the story fails.

// TestMuseum_K133579_StartupProbesAfterARestart: the agent had forgotten that a container had
// started, so that it ran the startup probe again; a container that answers it only at first was
// killed. The newest status, stored here or kept by the API server, tells that it has started.
// (Also 118245.)
func TestMuseum_K133579_StartupProbesAfterARestart(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0.startup", "ok for=15s; fail")
	p.Spec.Containers[0].StartupProbe = tcpProbe(5)
	b.Apply(p)
	b.Run(20 * time.Second)
	b.RestartWithStatuses()
	b.Run(2 * time.Minute)
	assert.Empty(t, callLines(b, "StopContainer"))
	assert.Equal(t, []string{"0s True"}, statusLines(b, "web", conditionIs(v1.PodReady)))
	b.Stop()
}

// TestMuseum_K142305_StartingAfterARestart: a restarted agent built the first status before it had
// added the probes, so a container without a success of its startup probe counted as started, and
// the pod got Ready. A container with a startup probe has started when the probe has succeeded.
func TestMuseum_K142305_StartingAfterARestart(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0.startup", "fail for=1m; ok")
	p.Spec.Containers[0].StartupProbe = tcpProbe(5)
	p.Spec.Containers[0].StartupProbe.FailureThreshold = 30
	p.Spec.Containers[0].LivenessProbe = tcpProbe(5)
	setAnswers(p, "c0.liveness", "fail for=1m; ok")
	b.Apply(p)
	b.Run(22 * time.Second)
	b.RestartWithStatuses()
	b.Run(2 * time.Minute)
	assert.Empty(t, callLines(b, "StopContainer"), "the liveness probe waits for the startup probe")
	assert.Equal(t, []string{"0s False", "1m2s True"}, statusLines(b, "web", conditionIs(v1.PodReady)))
	b.Stop()
}

// TestMuseum_K125397_ReadyAfterARestart: with each start of the agent the results of probes began
// with NotReady, so that a service lost its endpoints. Ready is as published until the probe has
// said otherwise. (Also 113646, 78733.)
func TestMuseum_K125397_ReadyAfterARestart(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Jitter: func() float64 { return 0.9 }}})
	p := setAnswers(newPod("web", []string{"serve"}), "c0.readiness", "ok for=1m30s; fail")
	p.Spec.Containers[0].ReadinessProbe = tcpProbe(10)
	b.Apply(p)
	b.Run(time.Minute)
	b.RestartWithStatuses()
	b.Run(time.Minute)
	assert.Equal(t, []string{"0s True", "1m59s False"}, statusLines(b, "web", conditionIs(v1.PodReady)))
	b.Stop()
}

// TestMuseum_K134338_TheHookEndsWithItsContainer: the agent slept the time of a sleep hook to its
// end, though the container had long exited, and the pod stayed Terminating. A wait for a container
// ends when the container does.
func TestMuseum_K134338_TheHookEndsWithItsContainer(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := newPod("web", []string{"sleep", "15"})
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	p.Spec.TerminationGracePeriodSeconds = new(int64(90))
	p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 60}}}
	b.Apply(p)
	b.Run(10 * time.Second)
	b.Delete(p.UID)
	b.Run(2 * time.Minute)
	assert.Equal(t, []string{"15s StopSandbox"}, callLines(b, "StopSandbox"))
	b.Stop()
}

// TestMuseum_K127793_PendingWhileItInitializesAgain: after a reboot the regular containers of the lost
// sandbox counted as stopped and about to restart, so the phase was Running while init containers ran
// again. Only containers of the new sandbox count. (Also 126653, 104629.)
func TestMuseum_K127793_PendingWhileItInitializesAgain(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := withInit(newPod("web", []string{"serve"}), "i: run=2s exit=0; run=3s exit=1; run=3s exit=1; run=4s exit=0")
	b.Apply(p)
	b.Run(5 * time.Second)
	require.NoError(t, b.Machine().KillSandbox(newestSandbox(t, b, "web")))
	b.Run(time.Minute)
	assert.Equal(t, []string{"0s Pending", "2s Running", "5s Pending", "45s Running"}, statusLines(b, "web", phaseOf))
	b.Stop()
}

// TestMuseum_K124176_AnEphemeralContainerIsOver: the record of a debug container was removed by
// hand, and its status said for ever that it is being created. It runs once, so it has ended.
func TestMuseum_K124176_AnEphemeralContainerIsOver(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := newPod("web", []string{"serve"})
	p.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug", Image: "debug:1", Command: []string{"serve"}}}}
	b.Apply(p)
	b.Run(5 * time.Second)
	loseNewest(t, b, "web", "debug")
	b.Run(time.Minute)
	ended := b.Pod("web").Status.EphemeralContainerStatuses[0].State.Terminated
	require.NotNil(t, ended)
	assert.Equal(t, "137 ContainerStatusUnknown", fmt.Sprint(ended.ExitCode, " ", ended.Reason))
	assert.Equal(t, []string{"0s StartContainer c0", "0s StartContainer debug"}, slices.Sorted(slices.Values(callLines(b, "StartContainer"))))
	b.Stop()
}

// TestMuseum_K135299_WhyContainersCannotStart: the condition PodReadyToStartContainers was False
// without a message. It has the error of the sandbox.
func TestMuseum_K135299_WhyContainersCannotStart(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkMessage: "no CNI"})
	b.Apply(newPod("web", []string{"serve"}))
	b.Run(5 * time.Second)
	b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true})
	b.Run(30 * time.Second)
	b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkMessage: "no CNI"})
	require.NoError(t, b.Machine().KillSandbox(newestSandbox(t, b, "web")))
	b.Run(5 * time.Second)
	assert.Equal(t, []string{
		"0s False PodSandboxNotReady: no pod sandbox exists", "7s True", "35s False PodSandboxNotReady: pod sandbox is not ready",
	}, statusLines(b, "web", func(s *v1.PodStatus) string {
		for _, c := range s.Conditions {
			if c.Type == v1.PodReadyToStartContainers {
				return strings.TrimSuffix(fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message), " : ")
			}
		}
		return ""
	}))
	b.Stop()
}

// TestMuseum_K141155_AReplacedContainerHasNotStarted: the started state of a container was carried over
// to its replacement, so its startup probe never ran. A published state counts only for the container
// with the same ID.
func TestMuseum_K141155_AReplacedContainerHasNotStarted(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0.startup", "fail for=8s; ok")
	p.Spec.Containers[0].StartupProbe = tcpProbe(5)
	p.Spec.Containers[0].StartupProbe.FailureThreshold = 30
	b.Apply(p)
	b.Run(time.Minute)
	b.Crash()
	require.NoError(t, b.Machine().ExitContainer(newestContainer(t, b, "web", "c0"), 1))
	b.RestartWithStatuses()
	b.Run(time.Minute)
	assert.Equal(t, []string{
		"0s restarts=0 started=false", "10s restarts=0 started=true", "1m0s restarts=1 started=false", "1m10s restarts=1 started=true",
	}, statusLines(b, "web", func(s *v1.PodStatus) string {
		if len(s.ContainerStatuses) == 0 || s.ContainerStatuses[0].State.Running == nil {
			return ""
		}
		c := s.ContainerStatuses[0]
		return fmt.Sprintf("restarts=%d started=%t", c.RestartCount, *c.Started)
	}))
	b.Stop()
}

// TestMuseum_K141473_AReplacedContainerIsNotReady: the readiness of a container came back, from the
// status of the API server, for its replacement.
func TestMuseum_K141473_AReplacedContainerIsNotReady(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0.readiness", "fail for=8s; ok")
	p.Spec.Containers[0].ReadinessProbe = tcpProbe(5)
	b.Apply(p)
	b.Run(time.Minute)
	b.Crash()
	require.NoError(t, b.Machine().ExitContainer(newestContainer(t, b, "web", "c0"), 1))
	b.RestartWithStatuses()
	b.Run(time.Minute)
	assert.Equal(t, []string{"0s False", "10s True", "1m0s False", "1m10s True"}, statusLines(b, "web", conditionIs(v1.PodReady)))
	b.Stop()
}

// TestMuseum_K137146_ACrashBesideASidecar: a regular container crashed while no agent ran. The next
// agent took the pod for not initialized, since no regular container ran, and for initialized by
// its sidecar, and did nothing. A record of a regular container in the sandbox, in whatever state,
// says that the pod is initialized.
func TestMuseum_K137146_ACrashBesideASidecar(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(withInit(newPod("web", []string{"serve"}), "s: run=forever"), "s.startup", "ok for=10s; fail for=40s; ok")
	p.Spec.InitContainers[0].StartupProbe = tcpProbe(5)
	p.Spec.InitContainers[0].StartupProbe.FailureThreshold = 30
	b.Apply(p)
	b.Run(20 * time.Second)
	b.Crash()
	require.NoError(t, b.Machine().ExitContainer(newestContainer(t, b, "web", "c0"), 1))
	b.Start()
	b.Run(30 * time.Second)
	assert.Equal(t, []string{"0s StartContainer s", "0s StartContainer c0", "20s StartContainer c0"}, callLines(b, "StartContainer"))
	b.Stop()
}

// TestMuseum_TheTableIsComplete: MUSEUM.md has a row with a guard for each story, wherever it stands, and
// each story that it names is there.
func TestMuseum_TheTableIsComplete(t *testing.T) {
	text, err := os.ReadFile("MUSEUM.md")
	require.NoError(t, err)
	var listed, there []string
	for line := range strings.Lines(string(text)) {
		if _, test, found := strings.Cut(line, "`TestMuseum_"); found {
			cells := strings.Split(line, " | ")
			require.Len(t, cells, 4, line)
			name, _, _ := strings.Cut(test, "`")
			listed = append(listed, name)
		}
	}
	story := regexp.MustCompile(`(?m)^func TestMuseum_([A-Z]\w*\d+_\w+)\(`)
	require.NoError(t, fs.WalkDir(os.DirFS("../.."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(filepath.Join("../..", path))
		for _, match := range story.FindAllStringSubmatch(string(code), -1) {
			there = append(there, match[1])
		}
		return err
	}))
	assert.ElementsMatch(t, there, listed)
}
