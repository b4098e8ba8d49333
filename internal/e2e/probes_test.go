//go:build linux

package e2e_test

import (
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// A liveness probe that fails kills its container, which is started again, once,
// in the same sandbox; another container is left alone.
func livenessExec(s *scene) {
	liveness(s, "exec", "exec: {command: [test, -e, /tmp/well]}", "rm /tmp/well")
}
func livenessHTTP(s *scene) { liveness(s, "http", "httpGet: {path: /well, port: web}", "rm /tmp/well") }

// A server that answers a probe just now has a process for that, which may end before killall
// comes to it.
func livenessTCP(s *scene) {
	liveness(s, "tcp", "tcpSocket: {port: 8080}", "killall httpd || true")
}

func liveness(s *scene, name, probe, breakIt string) {
	name = "liveness-" + name
	s.pod(name, fmt.Sprintf(`
terminationGracePeriodSeconds: 5
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'touch /tmp/well; httpd -p 8080 -h /tmp; trap "exit 0" TERM; sleep 100000 & wait']
  ports: [{name: web, containerPort: 8080}]
  livenessProbe: {%s, initialDelaySeconds: 3, periodSeconds: 1, failureThreshold: 2, timeoutSeconds: 20}
- {name: other, image: IMAGE, command: STAY}
`, probe))
	s.ready(name)
	sandbox, other, web := s.sandbox(name).Id, s.running(name, "other").Id, s.running(name, "web").Id
	s.fell(name, "web", breakIt)
	p := s.await(name, "restarted", func(p *v1.Pod) bool { return isReady(p) && statusOf(p, "web").RestartCount > 0 })
	assert.EqualValues(s, 1, statusOf(p, "web").RestartCount)
	require.NotNil(s, lastExit(p, "web"))
	assert.Equal(s, "containerd://"+web, lastExit(p, "web").ContainerID)
	assert.NotEqual(s, web, s.running(name, "web").Id)
	assert.Equal(s, other, s.running(name, "other").Id)
	assert.Equal(s, sandbox, s.sandbox(name).Id)
	s.remove(name)
}

// A readiness probe says whether a container is ready, and kills nothing.
func readiness(s *scene) {
	s.pod("readiness", `
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'httpd -p 8080 -h /tmp; trap "exit 0" TERM; sleep 100000 & wait']
  readinessProbe: {httpGet: {path: /well, port: 8080}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 20}
`)
	p := s.await("readiness", "running", func(p *v1.Pod) bool { return statusOf(p, "web").State.Running != nil })
	require.False(s, isReady(p))
	id := s.running("readiness", "web").Id
	s.sh("readiness", "web", "touch /tmp/well")
	s.ready("readiness")
	s.sh("readiness", "web", "rm /tmp/well")
	p = s.await("readiness", "not Ready any more", func(p *v1.Pod) bool { return !isReady(p) })
	assert.Zero(s, statusOf(p, "web").RestartCount)
	assert.Equal(s, id, s.running("readiness", "web").Id)
	s.remove("readiness")
}

// Before a startup probe has succeeded a container has not started, and its other
// probes are not made.
func startup(s *scene) {
	s.pod("startup", `
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'trap "exit 0" TERM; sleep 100000 & wait']
  startupProbe: {exec: {command: [sh, -c, 'echo startup >> /tmp/asked; test -e /tmp/started']}, periodSeconds: 1, failureThreshold: 1000, timeoutSeconds: 20}
  livenessProbe: {exec: {command: [sh, -c, 'echo liveness >> /tmp/asked']}, periodSeconds: 1, timeoutSeconds: 20}
  readinessProbe: {exec: {command: [sh, -c, 'echo readiness >> /tmp/asked']}, periodSeconds: 1, timeoutSeconds: 20}
`)
	s.await("startup", "running", func(p *v1.Pod) bool { return statusOf(p, "web").State.Running != nil })
	const asked = "sort /tmp/asked 2>/dev/null | uniq"
	s.wait("asked three times", soon, func() bool {
		return s.sh("startup", "web", "cat /tmp/asked 2>/dev/null | wc -l") >= "3"
	})
	assert.Equal(s, "startup", s.sh("startup", "web", asked))
	p := s.board.look()["startup"]
	require.NotNil(s, statusOf(p, "web").Started)
	assert.False(s, *statusOf(p, "web").Started)
	s.sh("startup", "web", "touch /tmp/started")
	p = s.ready("startup")
	assert.True(s, *statusOf(p, "web").Started)
	s.wait("asked the rest", soon, func() bool {
		return s.sh("startup", "web", asked) == "liveness\nreadiness\nstartup"
	})
	s.remove("startup")
}

// A startup probe that fails as often as it may kills its container.
func startupKills(s *scene) {
	s.pod("startup-kills", `
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: STAY
  startupProbe: {tcpSocket: {port: 9}, periodSeconds: 1, failureThreshold: 2}
`)
	p := s.await("startup-kills", "restarted", func(p *v1.Pod) bool { return statusOf(p, "web").RestartCount > 0 })
	assert.False(s, isReady(p))
	require.NotNil(s, lastExit(p, "web"))
	s.remove("startup-kills")
}
