//go:build linux

package e2e_test

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// A container that keeps failing is started again: at once, after 10 seconds,
// and so on; its status says so.
func crashLoop(s *scene) {
	s.writePod("crash", `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'exit 3']}
`)
	p := s.awaitPod("crash", "in CrashLoopBackOff", func(p *v1.Pod) bool {
		w := statusOf(p, "web").State.Waiting
		return w != nil && w.Reason == "CrashLoopBackOff" && statusOf(p, "web").RestartCount == 1
	})
	first := lastExit(p, "web")
	require.NotNil(s, first)
	assert.EqualValues(s, 3, first.ExitCode)
	assert.Equal(s, "Error", first.Reason)
	p = s.awaitPod("crash", "restarted twice", func(p *v1.Pod) bool {
		return statusOf(p, "web").RestartCount == 2 && lastExit(p, "web").ContainerID != first.ContainerID
	})
	second := lastExit(p, "web")
	pause := second.StartedAt.Sub(first.FinishedAt.Time)
	assert.GreaterOrEqual(s, pause, 9*time.Second) // Times of statuses have no fractions.
	assert.Less(s, pause, 10*time.Second+soon)
	assert.LessOrEqual(s, len(s.listContainers("crash")), 3)
	s.removePod("crash")
}

// Containers of pods that are not to be restarted end, and their pod with them.
func checkNeverRestarts(s *scene) {
	s.writePod("never", `
restartPolicy: Never
terminationGracePeriodSeconds: 2
containers:
- {name: good, image: IMAGE, command: [sh, -c, 'echo done > /dev/termination-log']}
- {name: bad, image: IMAGE, command: [sh, -c, 'echo the log says so; exit 4'], terminationMessagePolicy: FallbackToLogsOnError}
- {name: file, image: IMAGE, command: [sh, -c, 'printf why > /tmp/why; exit 5'], terminationMessagePath: /tmp/why}
`)
	p := s.awaitPod("never", "failed", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	for name, want := range map[string]v1.ContainerStateTerminated{
		"good": {ExitCode: 0, Reason: "Completed", Message: "done\n"},
		"bad":  {ExitCode: 4, Reason: "Error", Message: "the log says so\n"},
		"file": {ExitCode: 5, Reason: "Error", Message: "why"},
	} {
		st := statusOf(p, name)
		require.NotNil(s, st.State.Terminated, name)
		assert.Equal(s, want, v1.ContainerStateTerminated{
			ExitCode: st.State.Terminated.ExitCode, Reason: st.State.Terminated.Reason, Message: st.State.Terminated.Message,
		}, name)
		assert.Zero(s, st.RestartCount)
	}
	s.removePod("never")
}

// The kernel kills a process that takes more memory than its container may, and the status has the reason OOMKilled.
// The container outlives the process for a moment. containerd gets the kill and the exit in any order, and until it has
// both the reason is an ordinary one. A busy containerd may get the kill too late, but not three times.
func checkOOMKill(s *scene) {
	reason := ""
	for i := 0; i < 3 && reason != "OOMKilled"; i++ {
		name := fmt.Sprint("oom-", i)
		s.writePod(name, `
restartPolicy: Never
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'tail /dev/zero; code=$?; sleep 2; exit $code'], resources: {limits: {memory: 16Mi}}}
`)
		p := s.awaitPod(name, "failed", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
		end := statusOf(p, "web").State.Terminated
		require.NotNil(s, end)
		assert.EqualValues(s, 137, end.ExitCode)
		reason = end.Reason
		s.removePod(name)
	}
	assert.Equal(s, "OOMKilled", reason)
}
