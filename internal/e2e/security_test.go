//go:build linux

package e2e_test

import (
	"strings"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

// The security context of a container is what its process has.
func checkSecurityContext(s *scene) {
	s.writePod("security", `
terminationGracePeriodSeconds: 2
securityContext: {fsGroup: 3000, supplementalGroups: [4000], sysctls: [{name: net.ipv4.ip_local_port_range, value: "20000 30000"}]}
volumes: [{name: scratch, emptyDir: {}}]
containers:
- name: plain
  image: IMAGE
  command: STAY
- name: user
  image: IMAGE
  command: STAY
  securityContext: {runAsUser: 1000, runAsGroup: 2000, runAsNonRoot: true, allowPrivilegeEscalation: false}
  volumeMounts: [{name: scratch, mountPath: /scratch}]
- name: bare
  image: IMAGE
  command: STAY
  securityContext: {readOnlyRootFilesystem: true, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}, seccompProfile: {type: RuntimeDefault}}
- name: mighty
  image: IMAGE
  command: STAY
  securityContext: {privileged: true}
`)
	s.awaitReady("security")
	const usual = "00000000a80425fb" // the capabilities that containers have
	process := func(container, key string) string {
		return strings.TrimSpace(strings.TrimPrefix(lineWithWord(s.runScript("security", container, "cat /proc/1/status"), key+":"), key+":"))
	}
	assert.Equal(s, usual, process("plain", "CapEff"))
	assert.Equal(s, "0", process("plain", "Seccomp"))
	assert.Equal(s, "0", process("plain", "NoNewPrivs"))
	assert.Equal(s, "taken", s.runScript("security", "plain", "touch /file && echo taken"))
	assert.Equal(s, "20000\t30000", s.runScript("security", "plain", "cat /proc/sys/net/ipv4/ip_local_port_range"))

	// Only a privileged container can write to the host's kernel settings.
	const write = "(echo name > /proc/sys/kernel/domainname) 2>/dev/null && echo taken || echo refused"
	assert.Equal(s, "refused", s.runScript("security", "plain", write))
	assert.Equal(s, "0", s.runScript("security", "plain", "ls /sys/firmware | wc -l"))
	assert.Equal(s, "taken", s.runScript("security", "mighty", write))

	assert.Equal(s, "1000\t1000\t1000\t1000", process("user", "Uid"))
	assert.Equal(s, "2000\t2000\t2000\t2000", process("user", "Gid"))
	assert.Subset(s, strings.Fields(process("user", "Groups")), []string{"3000", "4000"})
	assert.Equal(s, "0000000000000000", process("user", "CapEff"))
	assert.Equal(s, "1", process("user", "NoNewPrivs"))
	assert.Equal(s, "3000", s.runScript("security", "user", "touch /scratch/file && stat -c %g /scratch/file"))

	assert.Equal(s, "0000000000000400", process("bare", "CapEff"))
	assert.Equal(s, "2", process("bare", "Seccomp"))
	assert.Equal(s, "refused", s.runScript("security", "bare", "touch /file 2>/dev/null && echo taken || echo refused"))

	assert.Greater(s, process("mighty", "CapEff"), usual)
	s.removePod("security")
}

// Who must not be root is not run as root, and says why.
func nonRoot(s *scene) {
	s.writePod("non-root", `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY, securityContext: {runAsNonRoot: true}}
`)
	p := s.awaitPod("non-root", "refused", func(p *v1.Pod) bool {
		return statusOf(p, "web").State.Waiting != nil && statusOf(p, "web").State.Waiting.Reason == "CreateContainerConfigError"
	})
	assert.Contains(s, statusOf(p, "web").State.Waiting.Message, "root")
	assert.Empty(s, s.listContainers("non-root"))
	s.removePod("non-root")
}

// What a container may have is written to its cgroup, and processes are shared
// where that is asked for.
func checkResources(s *scene) {
	s.writePod("resources", `
shareProcessNamespace: true
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: STAY
  resources: {requests: {cpu: 250m}, limits: {cpu: 500m, memory: 48Mi}}
- {name: other, image: IMAGE, command: [sh, -c, 'trap "exit 0" TERM; sleep 4242 & wait']}
`)
	s.awaitReady("resources")
	cgroup := func(one, two string) string {
		return s.runScript("resources", "web", "cat /sys/fs/cgroup/"+one+" 2>/dev/null || cat /sys/fs/cgroup/"+two)
	}
	assert.Equal(s, "50331648", cgroup("memory.max", "memory/memory.limit_in_bytes"))
	assert.Equal(s, "50000", strings.Fields(cgroup("cpu.max", "cpu/cpu.cfs_quota_us"))[0])
	assert.Contains(s, s.runScript("resources", "web", "ps"), "sleep 4242")
	s.removePod("resources")
}
