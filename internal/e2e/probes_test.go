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
	checkLiveness(s, "exec", "exec: {command: [test, -e, /tmp/well]}", "rm /tmp/well")
}
func livenessHTTP(s *scene) {
	checkLiveness(s, "http", "httpGet: {path: /well, port: web}", "rm /tmp/well")
}

// A server that answers a probe just now has a process for that, which may end before killall
// comes to it.
func livenessTCP(s *scene) {
	checkLiveness(s, "tcp", "tcpSocket: {port: 8080}", "killall httpd || true")
}

func checkLiveness(s *scene, name, probe, breakIt string) {
	name = "liveness-" + name
	s.writePod(name, fmt.Sprintf(`
terminationGracePeriodSeconds: 5
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'touch /tmp/well; httpd -p 8080 -h /tmp; trap "exit 0" TERM; sleep 100000 & wait']
  ports: [{name: web, containerPort: 8080}]
  livenessProbe: {%s, initialDelaySeconds: 3, periodSeconds: 1, failureThreshold: 2, timeoutSeconds: 20}
- {name: other, image: IMAGE, command: STAY}
`, probe))
	s.awaitReady(name)
	sandbox, other, web := s.onlySandbox(name).Id, s.runningContainer(name, "other").Id, s.runningContainer(name, "web").Id
	s.runExitScript(name, "web", breakIt)
	p := s.awaitPod(name, "restarted", func(p *v1.Pod) bool { return isReady(p) && statusOf(p, "web").RestartCount > 0 })
	assert.EqualValues(s, 1, statusOf(p, "web").RestartCount)
	require.NotNil(s, lastExit(p, "web"))
	assert.Equal(s, "containerd://"+web, lastExit(p, "web").ContainerID)
	assert.NotEqual(s, web, s.runningContainer(name, "web").Id)
	assert.Equal(s, other, s.runningContainer(name, "other").Id)
	assert.Equal(s, sandbox, s.onlySandbox(name).Id)
	s.removePod(name)
}

// A readiness probe says whether a container is ready, and kills nothing.
func checkReadiness(s *scene) {
	s.writePod("readiness", `
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'httpd -p 8080 -h /tmp; trap "exit 0" TERM; sleep 100000 & wait']
  readinessProbe: {httpGet: {path: /well, port: 8080}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 20}
`)
	p := s.awaitPod("readiness", "running", func(p *v1.Pod) bool { return statusOf(p, "web").State.Running != nil })
	require.False(s, isReady(p))
	id := s.runningContainer("readiness", "web").Id
	s.runScript("readiness", "web", "touch /tmp/well")
	s.awaitReady("readiness")
	s.runScript("readiness", "web", "rm /tmp/well")
	p = s.awaitPod("readiness", "not Ready any more", func(p *v1.Pod) bool { return !isReady(p) })
	assert.Zero(s, statusOf(p, "web").RestartCount)
	assert.Equal(s, id, s.runningContainer("readiness", "web").Id)
	s.removePod("readiness")
}

// Before a startup probe has succeeded a container has not started, and its other
// probes are not made.
func checkStartup(s *scene) {
	s.writePod("startup", `
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'trap "exit 0" TERM; sleep 100000 & wait']
  startupProbe: {exec: {command: [sh, -c, 'echo startup >> /tmp/asked; test -e /tmp/started']}, periodSeconds: 1, failureThreshold: 1000, timeoutSeconds: 20}
  livenessProbe: {exec: {command: [sh, -c, 'echo liveness >> /tmp/asked']}, periodSeconds: 1, timeoutSeconds: 20}
  readinessProbe: {exec: {command: [sh, -c, 'echo readiness >> /tmp/asked']}, periodSeconds: 1, timeoutSeconds: 20}
`)
	s.awaitPod("startup", "running", func(p *v1.Pod) bool { return statusOf(p, "web").State.Running != nil })
	const asked = "sort /tmp/asked 2>/dev/null | uniq"
	s.waitFor("asked three times", soon, func() bool {
		return s.runScript("startup", "web", "cat /tmp/asked 2>/dev/null | wc -l") >= "3"
	})
	assert.Equal(s, "startup", s.runScript("startup", "web", asked))
	p := s.board.listPods()["startup"]
	require.NotNil(s, statusOf(p, "web").Started)
	assert.False(s, *statusOf(p, "web").Started)
	s.runScript("startup", "web", "touch /tmp/started")
	p = s.awaitReady("startup")
	assert.True(s, *statusOf(p, "web").Started)
	s.waitFor("asked the rest", soon, func() bool {
		return s.runScript("startup", "web", asked) == "liveness\nreadiness\nstartup"
	})
	s.removePod("startup")
}

// A startup probe that fails as often as it may kills its container.
func startupKills(s *scene) {
	s.writePod("startup-kills", `
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: STAY
  startupProbe: {tcpSocket: {port: 9}, periodSeconds: 1, failureThreshold: 2}
`)
	p := s.awaitPod("startup-kills", "restarted", func(p *v1.Pod) bool { return statusOf(p, "web").RestartCount > 0 })
	assert.False(s, isReady(p))
	require.NotNil(s, lastExit(p, "web"))
	s.removePod("startup-kills")
}
