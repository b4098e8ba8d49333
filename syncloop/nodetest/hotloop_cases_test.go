package nodetest_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// startFails is a runtime on which one container cannot be started, and stays created.
func startFails(t *testing.T) func(runtime.Runtime, clock.Clock) runtime.Runtime {
	faults, err := faulty.New(faulty.Config{Rules: []faulty.Rule{{Verb: faulty.StartContainer, Do: faulty.Fail, Err: errors.New("no such binary")}}})
	require.NoError(t, err)
	return faults.Wrap
}

// TestHotLoop_AStartThatFailsAndLeavesTheRecordCreated: it was removed, created and
// started again without a pause, 66,488 times in 4 s. Each attempt counts for the crash loop, in
// the simulation and under goroutines alike.
func TestHotLoop_AStartThatFailsAndLeavesTheRecordCreated(t *testing.T) {
	transcript := nodetest.Play(t, nodetest.Config{Wrap: startFails(t)}, func(w nodetest.Harness) {
		w.Run(0)
		w.Apply(newPod("web", []string{"serve"}))
		w.Run(6 * time.Minute)
	})
	require.Equal(t, `pod default/web
        0s  RunSandbox attempt=0
        0s  event Pulling: Pulling image "web:1"
        0s  PullImage web:1
        0s  event Pulled: Successfully pulled image "web:1" in 0s (0s including waiting). Image size: 1048576 bytes.
        0s  CreateContainer c0 attempt=0
        0s  event Created: Container c0 created
        0s  event Failed: Error: no such binary
        0s  | 0/1 RunContainerError restarts=0
       10s  RemoveContainer c0
       10s  event Pulled: Container image "web:1" already present on machine
       10s  CreateContainer c0 attempt=1
       10s  event Created: Container c0 created
       10s  event Failed: Error: no such binary
       20s  event BackOff: Back-off restarting failed container c0 in pod web_default, next try in 10s
       20s  | 0/1 CrashLoopBackOff restarts=1
       30s  RemoveContainer c0
       30s  event Pulled: Container image "web:1" already present on machine
       30s  CreateContainer c0 attempt=2
       30s  event Created: Container c0 created
       30s  event Failed: Error: no such binary
       30s  | 0/1 RunContainerError restarts=1
       40s  event BackOff: Back-off restarting failed container c0 in pod web_default, next try in 30s
       40s  | 0/1 CrashLoopBackOff restarts=2
     1m10s  RemoveContainer c0
     1m10s  event Pulled: Container image "web:1" already present on machine
     1m10s  CreateContainer c0 attempt=3
     1m10s  event Created: Container c0 created
     1m10s  event Failed: Error: no such binary
     1m10s  | 0/1 RunContainerError restarts=2
     1m20s  event BackOff: Back-off restarting failed container c0 in pod web_default, next try in 1m10s
     1m20s  | 0/1 CrashLoopBackOff restarts=3
     2m30s  RemoveContainer c0
     2m30s  event Pulled: Container image "web:1" already present on machine
     2m30s  CreateContainer c0 attempt=4
     2m30s  event Created: Container c0 created
     2m30s  event Failed: Error: no such binary
     2m30s  | 0/1 RunContainerError restarts=3
     2m40s  event BackOff: Back-off restarting failed container c0 in pod web_default, next try in 2m30s
     2m40s  | 0/1 CrashLoopBackOff restarts=4
     5m10s  RemoveContainer c0
     5m10s  event Pulled: Container image "web:1" already present on machine
     5m10s  CreateContainer c0 attempt=5
     5m10s  event Created: Container c0 created
     5m10s  event Failed: Error: no such binary
     5m10s  | 0/1 RunContainerError restarts=4
     5m20s  event BackOff: Back-off restarting failed container c0 in pod web_default, next try in 4m50s
     5m20s  | 0/1 CrashLoopBackOff restarts=5
`, transcript)
}

// hostNetworkLiar says of every sandbox that it is on the host's network.
func hostNetworkLiar(inner runtime.Runtime, clk clock.Clock) runtime.Runtime {
	faults, _ := faulty.New(faulty.Config{})
	return &fieldLiar{features: faults.Wrap(inner, clk).(features), lie: func(st *runtime.PodStatus) {
		for i := range st.Sandboxes {
			st.Sandboxes[i].HostNetwork = true
		}
	}}
}

// TestHotLoop_ASandboxSaidToBeOnTheHostsNetwork: it was replaced about 70 times a
// second, with the containers that ran in it, and no event gave the reason.
func TestHotLoop_ASandboxSaidToBeOnTheHostsNetwork(t *testing.T) {
	transcript := nodetest.Play(t, nodetest.Config{Wrap: hostNetworkLiar}, func(w nodetest.Harness) {
		w.Run(0)
		w.Apply(newPod("web", []string{"serve"}))
		w.Run(100 * time.Second)
	})
	require.Equal(t, `pod default/web
        0s  RunSandbox attempt=0
        0s  event Pulling: Pulling image "web:1"
        0s  PullImage web:1
        0s  event Pulled: Successfully pulled image "web:1" in 0s (0s including waiting). Image size: 1048576 bytes.
        0s  CreateContainer c0 attempt=0
        0s  event Created: Container c0 created
        0s  StartContainer c0
        0s  event Started: Container c0 started
        0s  event RuntimeMismatch: The runtime reports HostNetwork="true" of the sandbox, which was made with "false": it is replaced
        0s  event SandboxChanged: The sandbox is replaced: network mode has changed
        0s  event Killing: Stopping container c0: network mode has changed
        0s  StopContainer c0 grace=30s
        0s  StopSandbox
        0s  RunSandbox attempt=1
        0s  event Pulled: Container image "web:1" already present on machine
        0s  CreateContainer c0 attempt=1
        0s  event Created: Container c0 created
        0s  StartContainer c0
        0s  event Started: Container c0 started
        0s  | 1/1 Running restarts=1
       10s  event SandboxChanged: The sandbox is replaced: network mode has changed
       10s  event Killing: Stopping container c0: network mode has changed
       10s  StopContainer c0 grace=30s
       10s  ┌ StopSandbox
       10s  └ StopSandbox
       10s  RunSandbox attempt=2
       10s  event Pulled: Container image "web:1" already present on machine
       10s  CreateContainer c0 attempt=2
       10s  event Created: Container c0 created
       10s  StartContainer c0
       10s  event Started: Container c0 started
       10s  | 1/1 Running restarts=2
     10.7s  RemoveContainer c0
     10.7s  RemoveSandbox
       30s  event SandboxChanged: The sandbox is replaced: network mode has changed
       30s  event Killing: Stopping container c0: network mode has changed
       30s  StopContainer c0 grace=30s
       30s  ┌ StopSandbox
       30s  └ StopSandbox
       30s  RunSandbox attempt=3
       30s  event Pulled: Container image "web:1" already present on machine
       30s  CreateContainer c0 attempt=3
       30s  event Created: Container c0 created
       30s  StartContainer c0
       30s  event Started: Container c0 started
       30s  | 1/1 Running restarts=3
     30.7s  RemoveContainer c0
     30.7s  RemoveSandbox
     1m10s  event SandboxChanged: The sandbox is replaced: network mode has changed
     1m10s  event Killing: Stopping container c0: network mode has changed
     1m10s  StopContainer c0 grace=30s
     1m10s  ┌ StopSandbox
     1m10s  └ StopSandbox
     1m10s  RunSandbox attempt=4
     1m10s  event Pulled: Container image "web:1" already present on machine
     1m10s  CreateContainer c0 attempt=4
     1m10s  event Created: Container c0 created
     1m10s  StartContainer c0
     1m10s  event Started: Container c0 started
     1m10s  | 1/1 Running restarts=4
   1m10.7s  RemoveContainer c0
   1m10.7s  RemoveSandbox
`, transcript)
}

// TestHotLoop_TheFieldThatDiffersIsNamedOnce: one line of the log names the field, the requested value and the reported
// value, however often the container is replaced.
func TestHotLoop_TheFieldThatDiffersIsNamedOnce(t *testing.T) {
	for _, c := range []struct {
		name, want string
		lie        func(*runtime.PodStatus)
	}{
		{"a sandbox", `container="" field=HostNetwork wanted=false seen=true`, func(st *runtime.PodStatus) {
			for i := range st.Sandboxes {
				st.Sandboxes[i].HostNetwork = true
			}
		}},
		{"a container", `container=c0 field=State wanted=running seen=unknown`, func(st *runtime.PodStatus) {
			for i := range st.Containers {
				st.Containers[i].State = runtime.StateUnknown
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			config := nodetest.Config{Wrap: func(inner runtime.Runtime, clk clock.Clock) runtime.Runtime {
				l := hostNetworkLiar(inner, clk).(*fieldLiar)
				l.lie = c.lie
				return l
			}}
			config.Node.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
			b := nodetest.New(tolerant{t}, config)
			b.Apply(newPod("web", []string{"serve"}))
			b.Run(3 * time.Minute)
			b.Stop()
			require.Equal(t, 1, strings.Count(log.String(), "the runtime reports another value of a field than requested"), log.String())
			require.Contains(t, log.String(), c.want)
			require.Equal(t, 1, strings.Count(b.Transcript(), "event RuntimeMismatch"), b.Transcript())
		})
	}
}

// TestHotLoop_TrueNewsDoesNotWait: while a pod waits for its backoff, what
// really happens to it acts at once: another container ends, the image changes, the pod
// is dropped.
func TestHotLoop_TrueNewsDoesNotWait(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Machine().FailPulls("bad:1", errors.New("no such image"))
	p := newPod("web", []string{"serve"}, []string{"serve"})
	p.Spec.TerminationGracePeriodSeconds = new(int64(2))
	p.Spec.Containers[0].Image = "bad:1"
	b.Apply(p)
	b.Run(4 * time.Second)
	require.NoError(t, b.Machine().ExitContainer(newestContainer(t, b, "web", "c1"), 1))
	b.Run(0)
	require.Contains(t, b.Transcript(), "4s  StartContainer c1", "it has ended")
	b.Run(time.Second)
	changed := p.DeepCopy()
	changed.Spec.Containers[0].Image = "good:1"
	b.Apply(changed)
	b.Run(0)
	require.Contains(t, b.Transcript(), "5s  StartContainer c0", "the image has changed")
	b.Run(time.Second)
	b.Delete(p.UID)
	b.Run(0)
	require.Contains(t, b.Transcript(), "6s  ┌ StopContainer c0", "it is dropped")
	b.Run(10 * time.Second)
	b.Stop()
}
