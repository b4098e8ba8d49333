//go:build linux

package e2e_test

import (
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Hooks that run a command: postStart before the container has started, preStop
// before TERM.
func hooksExec(s *scene) {
	out := s.sharedDir()
	s.writePod("hooks", `
terminationGracePeriodSeconds: 30
volumes: [{name: out, hostPath: {path: OUT}}]
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'trap "echo TERM >> /out/said; exit 0" TERM; sleep 100000 & wait']
  volumeMounts: &m [{name: out, mountPath: /out}]
  lifecycle:
    postStart: {exec: {command: [sh, -c, 'sleep 0.5; echo postStart >> /out/said']}}
    preStop: {exec: {command: [sh, -c, 'sleep 0.5; echo preStop >> /out/said']}}
- {name: after, image: IMAGE, command: [sh, -c, 'echo after >> /out/said; trap "exit 0" TERM; sleep 100000 & wait'], volumeMounts: *m}
`, "OUT="+out)
	s.awaitReady("hooks")
	s.waitFor("after has spoken", soon, func() bool { return strings.Count(readFile(out, "said"), "\n") == 1 })
	assert.Equal(s, "postStart\nafter", readFile(out, "said"))
	s.awaitTraps("hooks", "web")
	s.removePod("hooks")
	assert.Equal(s, "postStart\nafter\npreStop\nTERM", readFile(out, "said"))
}

// A postStart hook that fails kills its container.
func hookFails(s *scene) {
	s.writePod("hook-fails", `
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: STAY
  lifecycle: {postStart: {exec: {command: [sh, -c, 'exit 5']}}}
`)
	p := s.awaitPod("hook-fails", "restarted", func(p *v1.Pod) bool { return statusOf(p, "web").RestartCount > 0 })
	assert.False(s, isReady(p))
	s.removePod("hook-fails")
}

// Hooks that make a request reach another pod over the network.
func hooksHTTP(s *scene) {
	out := s.sharedDir()
	s.writePod("hook-target", `
terminationGracePeriodSeconds: 2
volumes: [{name: out, hostPath: {path: OUT}}]
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'mkdir -p /www/cgi-bin; printf "#!/bin/sh\necho \$QUERY_STRING >> /out/said; echo; echo good\n" > /www/cgi-bin/hook; chmod +x /www/cgi-bin/hook; httpd -p 8080 -h /www; trap "exit 0" TERM; sleep 100000 & wait']
  volumeMounts: [{name: out, mountPath: /out}]
  readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
`, "OUT="+out)
	target := s.awaitPod("hook-target", "Ready with an address", func(p *v1.Pod) bool { return isReady(p) && p.Status.PodIP != "" })
	s.writePod("hook-http", `
terminationGracePeriodSeconds: 30
containers:
- name: web
  image: IMAGE
  command: STAY
  lifecycle:
    postStart: {httpGet: {host: TARGET, port: 8080, path: '/cgi-bin/hook?postStart'}}
    preStop: {httpGet: {host: TARGET, port: 8080, path: '/cgi-bin/hook?preStop'}}
`, "TARGET="+target.Status.PodIP)
	s.awaitReady("hook-http")
	require.Equal(s, "postStart", readFile(out, "said"))
	s.awaitTraps("hook-http", "web")
	s.removePod("hook-http")
	assert.Equal(s, "postStart\npreStop", readFile(out, "said"))
	s.removePod("hook-target")
}
