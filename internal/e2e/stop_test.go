//go:build linux

package e2e_test

import (
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// A container that heeds TERM ends long before its grace is over, which is longer than remove
// waits.
func checkStop(s *scene) {
	out := s.sharedDir()
	s.writePod("stop", `
terminationGracePeriodSeconds: 600
volumes: [{name: out, hostPath: {path: OUT}}]
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'trap "echo told > /out/said; exit 0" TERM; sleep 100000 & wait']
  volumeMounts: [{name: out, mountPath: /out}]
`, "OUT="+out)
	s.awaitReady("stop")
	s.awaitTraps("stop", "web")
	s.removePod("stop")
	assert.Equal(s, "told", readFile(out, "said"))
}

// One that does not heed it is killed when its grace is over, and not before.
func checkKillAfterGrace(s *scene) {
	const grace = 3 * time.Second
	s.writePod("stubborn", `
terminationGracePeriodSeconds: 3
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'trap "" TERM; while true; do sleep 1; done']}
`)
	s.awaitReady("stubborn")
	s.awaitTraps("stubborn", "web")
	id := s.runningContainer("stubborn", "web").Id
	from := real.Now()
	s.agent.Remove("stubborn.yaml")
	ends := s.watchExits("stubborn")
	require.Contains(s, ends, "web")
	assert.Equal(s, id, ends["web"].Id)
	assert.EqualValues(s, 137, ends["web"].ExitCode)
	took := time.Unix(0, ends["web"].FinishedAt).Sub(from)
	assert.GreaterOrEqual(s, took, grace)
	assert.Less(s, took, grace+soon)
	s.waitUntilGone("stubborn")
}

// The end of a container's only process is not the only way to be stopped: the
// signal may be another one than TERM.
func stopSignal(s *scene) {
	out := s.sharedDir()
	s.writePod("signal", `
terminationGracePeriodSeconds: 3
os: {name: linux}
volumes: [{name: out, hostPath: {path: OUT}}]
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'trap "echo USR1 > /out/said; exit 0" USR1; trap "echo TERM > /out/said; exit 0" TERM; sleep 100000 & wait']
  lifecycle: {stopSignal: SIGUSR1}
  volumeMounts: [{name: out, mountPath: /out}]
`, "OUT="+out)
	s.awaitReady("signal")
	s.awaitTraps("signal", "web")
	s.removePod("signal")
	want := "USR1"
	if s.c.Version != e2e.Containerd2 {
		want = "TERM" // They do not know the field.
	}
	assert.Equal(s, want, readFile(out, "said"))
}

// watchExits watches a pod end, and returns how each of its containers ended: while
// the pod's records last, which is not long.
func (s *scene) watchExits(name string) map[string]*cri.ContainerStatus {
	s.Helper()
	ends := map[string]*cri.ContainerStatus{}
	s.waitFor(name+" has ended", 2*soon, func() bool {
		runs := false
		for _, c := range s.listContainers(name) {
			ctx, cancel := s.callContext()
			st, err := s.cri.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: c.Id})
			cancel()
			if err != nil {
				continue // It has gone meanwhile.
			}
			if st.Status.State == cri.ContainerState_CONTAINER_EXITED {
				ends[c.Metadata.Name] = st.Status
			} else {
				runs = true
			}
		}
		return !runs
	})
	return ends
}

// Init containers run one after the other, each once the one before has
// succeeded, and one that fails is run again.
func initChain(s *scene) {
	out := s.sharedDir()
	s.writePod("init", `
terminationGracePeriodSeconds: 2
volumes: [{name: out, hostPath: {path: OUT}}]
initContainers:
- {name: one, image: IMAGE, command: [sh, -c, 'echo one >> /out/said; sleep 0.5; echo one ends >> /out/said'], volumeMounts: &m [{name: out, mountPath: /out}]}
- {name: two, image: IMAGE, command: [sh, -c, 'echo two >> /out/said; test -e /out/again || { touch /out/again; exit 7; }'], volumeMounts: *m}
- {name: three, image: IMAGE, command: [sh, -c, 'echo three >> /out/said'], volumeMounts: *m}
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'echo web >> /out/said; trap "exit 0" TERM; sleep 100000 & wait'], volumeMounts: *m}
`, "OUT="+out)
	p := s.awaitReady("init")
	// It is Ready once web runs, and web speaks a moment later.
	s.waitFor("web has spoken", soon, func() bool { return strings.HasSuffix(readFile(out, "said"), "web") })
	assert.Equal(s, strings.Fields("one one-ends two two three web"), strings.Fields(strings.ReplaceAll(readFile(out, "said"), " ", "-")))
	for i, restarts := range []int32{0, 1, 0} {
		st := p.Status.InitContainerStatuses[i]
		require.NotNil(s, st.State.Terminated)
		assert.Equal(s, "Completed", st.State.Terminated.Reason)
		assert.Equal(s, restarts, st.RestartCount)
	}
	require.NotNil(s, p.Status.InitContainerStatuses[1].LastTerminationState.Terminated)
	assert.EqualValues(s, 7, p.Status.InitContainerStatuses[1].LastTerminationState.Terminated.ExitCode)
	s.removePod("init")
}

// Sidecars start before what needs them and stop after it, the last one first
// (I33).
func checkSidecars(s *scene) {
	s.writePod("sidecars", `
terminationGracePeriodSeconds: 30
initContainers:
- {name: proxy, image: IMAGE, restartPolicy: Always, command: STAY}
- {name: init, image: IMAGE, command: [sh, -c, 'sleep 0.3']}
- {name: logger, image: IMAGE, restartPolicy: Always, command: STAY, startupProbe: {exec: {command: [test, -e, /tmp]}, periodSeconds: 1, timeoutSeconds: 20}}
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'trap "sleep 1; exit 0" TERM; sleep 100000 & wait']}
`)
	s.awaitReady("sidecars")
	began := map[string]int64{}
	var init int64 // when it ended
	for _, c := range s.listContainers("sidecars") {
		st := s.containerStatus(c.Id)
		began[c.Metadata.Name] = st.StartedAt
		if c.Metadata.Name == "init" {
			init = st.FinishedAt
		}
	}
	require.Len(s, began, 4)
	assert.Less(s, began["proxy"], began["init"])
	assert.Less(s, init, began["logger"])
	assert.Less(s, began["logger"], began["web"])

	s.awaitTraps("sidecars", "proxy", "logger", "web")
	s.agent.Remove("sidecars.yaml")
	ends := s.watchExits("sidecars")
	require.Contains(s, ends, "proxy")
	for _, name := range []string{"web", "logger", "proxy"} {
		assert.Zero(s, ends[name].GetExitCode(), "%s was killed", name)
	}
	assert.Less(s, ends["web"].GetFinishedAt(), ends["logger"].GetFinishedAt())
	assert.Less(s, ends["logger"].GetFinishedAt(), ends["proxy"].GetFinishedAt())
	s.waitUntilGone("sidecars")
}

// The image of a pod that keeps its UID is changed: its container is replaced,
// once, in the same sandbox.
func checkImageChange(s *scene) {
	const spec = `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY}
- {name: other, image: IMAGE, command: STAY}
`
	s.writePod("update", spec, "uid: an-update")
	s.awaitReady("update")
	sandbox, web, other := s.onlySandbox("update"), s.runningContainer("update", "web"), s.runningContainer("update", "other")
	s.writePod("update", strings.Replace(spec, "IMAGE", "NEXT", 1), "uid: an-update")
	p := s.awaitPod("update", "restarted", func(p *v1.Pod) bool { return isReady(p) && statusOf(p, "web").RestartCount > 0 })
	assert.EqualValues(s, 1, statusOf(p, "web").RestartCount)
	assert.Zero(s, statusOf(p, "other").RestartCount)
	after := s.runningContainer("update", "web")
	assert.NotEqual(s, web.Id, after.Id)
	assert.EqualValues(s, 1, after.Metadata.Attempt)
	assert.NotEqual(s, web.ImageRef, after.ImageRef)
	assert.Equal(s, other.Id, s.runningContainer("update", "other").Id)
	assert.Equal(s, sandbox.Id, s.onlySandbox("update").Id)
	s.removePod("update")
}
