//go:build linux

package e2e_test

import (
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// oomChild: the kernel kills a child process, and the container then exits with code 0. The message names the limit of the
// container, because the limit of the pod is higher. It does not blame the other container.
func oomChild(s *scene) {
	message := awaitOOM(s, "oom-child", `
restartPolicy: Never
terminationGracePeriodSeconds: 2
containers:
- {name: victim, image: IMAGE, command: [sh, -c, 'tail /dev/zero; sleep 2; exit 0'], resources: {limits: {memory: 16Mi}}}
- {name: innocent, image: IMAGE, command: [sleep, "5"], resources: {limits: {memory: 64Mi}}}
`, 0)
	assert.Regexp(s, "^the kernel killed .*process.* of the container, because the memory limit of the container was reached$", message)
}

// oomPodLimit: one container reaches the limit of the pod. Only its message says that the kernel has killed a process. The
// other container exits with its own code later, and its message is empty, whatever reason the runtime gives.
func oomPodLimit(s *scene) {
	message := awaitOOM(s, "oom-pod", `
restartPolicy: Never
terminationGracePeriodSeconds: 2
resources: {limits: {memory: 24Mi}}
containers:
- {name: victim, image: IMAGE, command: [sh, -c, 'tail /dev/zero; code=$?; sleep 2; exit $code']}
- {name: innocent, image: IMAGE, command: [sh, -c, 'sleep 7; exit 7']}
`, 7)
	assert.Regexp(s, "^the kernel killed .*process.* of the container, because the memory limit of the pod was reached$", message)
}

// awaitOOM runs a pod with the containers victim and innocent until it has ended, and returns the message of the victim.
// The innocent container has to exit with a code and without a message. On cgroup v1 the message depends on the reason
// OOMKilled. A busy containerd may get the kill too late for that, but not three times.
func awaitOOM(s *scene, name, spec string, innocentCode int32) (message string) {
	s.Helper()
	for i := 0; i < 3 && message == ""; i++ {
		name := fmt.Sprintf("%s-%d", name, i)
		s.writePod(name, spec)
		p := s.awaitPod(name, "terminated", func(p *v1.Pod) bool {
			return p.Status.Phase == v1.PodFailed || p.Status.Phase == v1.PodSucceeded
		})
		innocent, victim := statusOf(p, "innocent").State.Terminated, statusOf(p, "victim").State.Terminated
		require.NotNil(s, innocent)
		require.NotNil(s, victim)
		s.Logf("victim: %d %s %q, innocent: %d %s %q", victim.ExitCode, victim.Reason, victim.Message, innocent.ExitCode, innocent.Reason, innocent.Message)
		assert.Equal(s, innocentCode, innocent.ExitCode)
		assert.Empty(s, innocent.Message)
		message = victim.Message
		s.removePod(name)
	}
	return message
}
