//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// What one container writes into an emptyDir another one reads; it outlives
// containers and goes with the pod.
func emptyDir(s *scene) {
	s.writePod("empty", `
terminationGracePeriodSeconds: 2
volumes: [{name: shared, emptyDir: {}}, {name: memory, emptyDir: {medium: Memory, sizeLimit: 1Mi}}]
containers:
- name: one
  image: IMAGE
  command: [sh, -c, 'test -e /a/file && exec sleep 100000; echo hello > /a/file; sleep 1; exit 1']
  volumeMounts: [{name: shared, mountPath: /a}, {name: memory, mountPath: /m}]
- name: two
  image: IMAGE
  command: STAY
  volumeMounts: [{name: shared, mountPath: /b, readOnly: true}, {name: memory, mountPath: /m}]
`)
	p := s.awaitReady("empty")
	s.waitFor("written", soon, func() bool { return s.runScript("empty", "two", "cat /b/file 2>/dev/null || true") == "hello" })
	assert.Equal(s, "refused", s.runScript("empty", "two", "touch /b/other 2>/dev/null && echo taken || echo refused"))
	assert.Equal(s, "tmpfs", s.runScript("empty", "two", "stat -f -c %T /m"))
	assert.Equal(s, "full", s.runScript("empty", "two", "dd if=/dev/zero of=/m/big bs=1M count=3 2>/dev/null && echo fits || echo full"))
	s.awaitPod("empty", "the first container again", func(p *v1.Pod) bool { return isReady(p) && statusOf(p, "one").RestartCount == 1 })
	assert.Equal(s, "hello", s.runScript("empty", "one", "cat /a/file"))
	s.removePod("empty")
	s.waitFor("the volume has gone", soon, func() bool {
		_, err := os.Stat(filepath.Join(s.agent.State, "pods", string(p.UID), "volumes"))
		return os.IsNotExist(err)
	})
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(s, err)
	assert.NotContains(s, string(mounts), string(p.UID))
}

// Keys of ConfigMaps and Secrets are files, with the mode that was asked for, and
// the environment as a whole.
func checkConfigVolumes(s *scene) {
	s.writePod("configs", `
terminationGracePeriodSeconds: 2
volumes:
- {name: settings, configMap: {name: settings}}
- {name: password, secret: {secretName: password, defaultMode: 0400, items: [{key: word, path: deep/word}]}}
- {name: about, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
containers:
- name: web
  image: IMAGE
  command: STAY
  envFrom: [{prefix: SET_, configMapRef: {name: settings}}]
  volumeMounts:
  - {name: settings, mountPath: /settings}
  - {name: password, mountPath: /password}
  - {name: about, mountPath: /about}
  - {name: settings, mountPath: /etc/colour, subPath: colour}
`)
	s.awaitReady("configs")
	assert.Equal(s, "green 42", s.runScript("configs", "web", `echo "$SET_colour $SET_size"`))
	assert.Equal(s, "green 42", s.runScript("configs", "web", `echo "$(cat /settings/colour) $(cat /settings/size)"`))
	assert.Equal(s, "sesame 400", s.runScript("configs", "web", `echo "$(cat /password/deep/word) $(stat -L -c %a /password/deep/word)"`))
	assert.Equal(s, "configs-n1", s.runScript("configs", "web", "cat /about/name"))
	assert.Equal(s, "green", s.runScript("configs", "web", "cat /etc/colour"))
	s.removePod("configs")
}

// Directories and files of the host, parts of them, and mounts that are added below them later.
func hostPath(s *scene) {
	out := s.sharedDir()
	mountUntilEnd(s, out, out, "", syscall.MS_BIND)
	require.NoError(s, syscall.Mount("", out, "", syscall.MS_SHARED, ""))
	require.NoError(s, os.MkdirAll(filepath.Join(out, "part"), 0o755))
	require.NoError(s, os.MkdirAll(filepath.Join(out, "late"), 0o755))
	require.NoError(s, os.WriteFile(filepath.Join(out, "part", "file"), []byte("of the host"), 0o644))
	s.writePod("host-path", `
terminationGracePeriodSeconds: 2
volumes:
- {name: dir, hostPath: {path: OUT, type: Directory}}
- {name: made, hostPath: {path: OUT/made, type: DirectoryOrCreate}}
containers:
- name: web
  image: IMAGE
  command: STAY
  env: [{name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
  volumeMounts:
  - {name: dir, mountPath: /dir, readOnly: true}
  - {name: dir, mountPath: /part, subPath: part}
  - {name: made, mountPath: /made, subPathExpr: '$(NAME)/own'}
  - {name: dir, mountPath: /slave, mountPropagation: HostToContainer}
`, "OUT="+out)
	s.awaitReady("host-path")
	assert.Equal(s, "of the host", s.runScript("host-path", "web", "cat /dir/part/file"))
	assert.Equal(s, "of the host", s.runScript("host-path", "web", "cat /part/file"))
	assert.Equal(s, "refused", s.runScript("host-path", "web", "touch /dir/other 2>/dev/null && echo taken || echo refused"))
	s.runScript("host-path", "web", "echo back > /made/file")
	assert.Equal(s, "back", readFile(out, "made/host-path-n1/own/file"))

	mountUntilEnd(s, "tmpfs", filepath.Join(out, "late"), "tmpfs", 0)
	require.NoError(s, os.WriteFile(filepath.Join(out, "late", "file"), []byte("mounted late"), 0o644))
	assert.Equal(s, "mounted late", s.runScript("host-path", "web", "cat /slave/late/file"))
	assert.Empty(s, s.runScript("host-path", "web", "ls /dir/late"), "it is not asked for there")
	s.removePod("host-path")
	assert.Equal(s, "of the host", readFile(out, "part/file"))
}

// mountUntilEnd mounts a file system until the story ends.
func mountUntilEnd(s *scene, source, target, kind string, flags uintptr) {
	s.Helper()
	require.NoError(s, syscall.Mount(source, target, kind, flags, ""))
	s.Cleanup(func() { _ = syscall.Unmount(target, syscall.MNT_DETACH) }) // It is gone, or goes with its last user.
}
