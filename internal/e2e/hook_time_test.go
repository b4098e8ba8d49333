//go:build linux

package e2e_test

import (
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A preStop hook that does not end is not ended with the grace period: it goes on until its
// container has stopped, which is two seconds later if that ignores TERM.
func hookOutlastsGrace(s *scene) {
	out := s.sharedDir()
	s.writePod("hook-loops", `
terminationGracePeriodSeconds: 4
volumes: [{name: out, hostPath: {path: OUT}}]
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'trap "" TERM; while :; do sleep 1; done']
  volumeMounts: [{name: out, mountPath: /out}]
  lifecycle: {preStop: {exec: {command: [sh, -c, 'while :; do date +%s >> /out/loops; sleep 0.2; done']}}}
`, "OUT="+out)
	s.awaitReady("hook-loops")
	began := real.Now()
	s.removePod("hook-loops")
	took := real.Now().Sub(began)
	loops := strings.Fields(readFile(out, "loops"))
	require.NotEmpty(s, loops)
	first, err := strconv.Atoi(loops[0])
	require.NoError(s, err)
	last, err := strconv.Atoi(loops[len(loops)-1])
	require.NoError(s, err)
	assert.GreaterOrEqual(s, last-first, 5, "its grace period was 4 s; all took %s", took)
	assert.GreaterOrEqual(s, took, 6*time.Second)
	assert.Less(s, took, 20*time.Second)
}

// A preStop hook that sleeps ends with its container, and the pod does not wait for the rest.
func hookEndsWithContainer(s *scene) {
	out := s.sharedDir()
	s.writePod("hook-sleeps", `
terminationGracePeriodSeconds: 120
volumes: [{name: out, hostPath: {path: OUT}}]
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'while ! test -e /out/end; do sleep 0.1; done']
  volumeMounts: [{name: out, mountPath: /out}]
  lifecycle: {preStop: {sleep: {seconds: 100}}}
`, "OUT="+out)
	s.awaitReady("hook-sleeps")
	began := real.Now()
	s.agent.Remove("hook-sleeps.yaml")
	require.NoError(s, real.Sleep(s.Context(), 2*time.Second))
	require.Len(s, s.runningContainers("hook-sleeps"), 1, "it waits for its hook")
	s.execScript("hook-sleeps", "web", "touch /out/end")
	s.waitUntilGone("hook-sleeps")
	assert.Less(s, real.Now().Sub(began), 30*time.Second)
}
