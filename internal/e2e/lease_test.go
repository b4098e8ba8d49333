//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// TestLease kills containerd, or cancels the call, while a CNI plugin takes an address, and checks who gives the
// address back. The plugins outlive containerd. The next containerd shows the sandbox and gives back the addresses that
// are taken by then; the plugin itself gives back an address that it takes later. After a cancelled call containerd
// kills the plugin, but not the child processes of the plugin. Containerd gives back the addresses that are taken by
// then, and never shows the sandbox. No program gives back an address that a child takes after that; TestRestart
// excuses such an address.
func TestLease(t *testing.T) {
	skipUnlessLong(t)
	for _, version := range e2e.Versions() {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/killed,late=%t", version, late), func(t *testing.T) {
				s, dir, made, _ := startSlowSandbox(t, version, late)
				s.c.Kill()
				require.Error(t, <-made)
				ids := s.c.Joining()
				require.Len(t, ids, 1)
				s.c.Restart()
				all, err := listRecords(s.cri)
				require.NoError(t, err)
				require.Len(t, all.sandboxes, 1)
				require.Equal(t, ids[0], all.sandboxes[0].Id)
				require.NoError(t, removeSandbox(t.Context(), s.cri, ids[0], soon))
				assert.Empty(t, readLeases(t, s.c), "what was taken is given back")
				s.letGo(dir)
				assert.Empty(t, readLeases(t, s.c), "so is what is taken later")
			})
		}
		t.Run(string(version)+"/left", func(t *testing.T) {
			s, dir, made, leave := startSlowSandbox(t, version, true)
			ids := s.c.Joining()
			require.Len(t, ids, 1)
			gone := real.Now()
			leave()
			require.Error(t, <-made)
			s.waitFor("containerd has given up", soon, func() bool { return cutOff(s.c, ids[0], []time.Time{gone}) })
			all, err := listRecords(s.cri)
			require.NoError(t, err)
			require.Empty(t, all.sandboxes)
			require.Empty(t, readLeases(t, s.c))
			s.letGo(dir)
			for _, id := range readLeases(t, s.c) {
				assert.Equal(t, ids[0], id)
			}
			assert.Len(t, readLeases(t, s.c), 1)
			assert.False(t, cutOff(s.c, ids[0], nil), "nobody has gone")
			assert.False(t, cutOff(s.c, ids[0], []time.Time{gone.Add(-time.Minute)}), "long ago")
			assert.False(t, cutOff(s.c, "another", []time.Time{gone}))
		})
		t.Run(string(version)+"/removed", func(t *testing.T) { removedHalfway(t, version) })
	}
}

// removedHalfway kills containerd after an address was taken, and cancels the removal that follows while the plugin
// gives the address back. Containerd then kills the plugin. Containerd 2 ignores that for an unfinished sandbox and
// removes it, and no program gives the address back. Containerd 1.6 keeps the sandbox, so that the next removal gives
// the address back.
func removedHalfway(t *testing.T, version e2e.Version) {
	s, dir, made, _ := startSlowSandbox(t, version, false)
	ids := s.c.Joining()
	require.Len(t, ids, 1)
	s.c.Kill()
	require.Error(t, <-made)
	s.letGo(dir)
	s.c.Restart()
	require.Len(t, readLeases(t, s.c), 1)
	require.NoError(t, os.WriteFile(dir+"/hold", nil, 0o600))
	ctx, leave := s.callContext()
	t.Cleanup(leave)
	removed := make(chan error, 1)
	go func() {
		_, err := s.cri.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: ids[0]}) // It stops it first.
		removed <- err
	}()
	s.waitFor("the address is being given back", soon, func() bool { return fileExists(dir, "leaving") })
	gone := real.Now()
	leave()
	require.Error(t, <-removed)
	s.waitFor("containerd has killed the plugin", soon, func() bool {
		return slices.ContainsFunc(s.c.Said(ids[0]), func(line string) bool {
			return strings.Contains(line, "failed (delete)") && strings.Contains(line, "signal: killed")
		})
	})
	require.NoError(t, os.Remove(dir+"/hold"))
	if version == e2e.Containerd16 {
		require.NoError(t, removeSandbox(t.Context(), s.cri, ids[0], soon))
		assert.Empty(t, readLeases(t, s.c))
		return
	}
	s.waitFor("the sandbox is gone", soon, func() bool {
		all, err := listRecords(s.cri)
		return err == nil && len(all.sandboxes) == 0
	})
	assert.Equal(t, ids, slices.Collect(maps.Values(readLeases(t, s.c))))
	assert.True(t, cutOff(s.c, ids[0], []time.Time{gone}))
	assert.False(t, cutOff(s.c, ids[0], nil), "nobody has gone")
	assert.False(t, cutOff(s.c, ids[0], []time.Time{gone.Add(-time.Minute)}), "long ago")
}

// startSlowSandbox starts a containerd and a sandbox whose network setup takes its address and then waits. leave
// cancels the call that creates the sandbox.
func startSlowSandbox(t *testing.T, version e2e.Version, late bool) (s *scene, dir string, made chan error, leave func()) {
	t.Helper()
	s = newScene(t, e2e.Start(t, version), &e2e.Agent{})
	dir = s.slowNetwork(late)
	ctx, leave := s.callContext()
	t.Cleanup(leave)
	made = make(chan error, 1)
	go func() { made <- s.bareSandbox(ctx) }()
	s.waitFor("an address is being taken", soon, func() bool { return fileExists(dir, "asked") })
	return s, dir, made, leave
}

// letGo lets the plugin take the address, and waits until it has ended.
func (s *scene) letGo(dir string) {
	s.Helper()
	require.NoError(s, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	s.waitFor("the address was taken", soon, func() bool { return fileExists(dir, "done") && len(s.c.Joining()) == 0 })
}

// cutOff reports whether the log of containerd has one of two lines. Either containerd has killed the plugin that set
// up the network of a sandbox, soon after the caller had disconnected; or it has killed the plugin that released the
// address of an unfinished sandbox after a restart. In both cases containerd ignores the failure and removes the
// sandbox.
func cutOff(c *e2e.Containerd, id string, gone []time.Time) bool {
	for _, line := range c.Said(id) {
		adding := strings.Contains(line, "failed to setup network") && strings.Contains(line, "failed (add)")
		ignored := strings.Contains(line, "failed to destroy network") && strings.Contains(line, "failed (delete)") &&
			strings.Contains(line, "and ignoring because")
		// It may not have begun to run when it was given up.
		given := strings.Contains(line, "signal: killed") || strings.Contains(line, "context canceled")
		if !adding && !ignored || !given {
			continue
		}
		_, at, _ := strings.Cut(line, `time="`)
		at, _, _ = strings.Cut(at, `"`)
		said, err := time.Parse(time.RFC3339Nano, at)
		if err == nil && slices.ContainsFunc(gone, func(at time.Time) bool { return said.After(at) && said.Sub(at) < cut*time.Second }) {
			return true
		}
	}
	return false
}

// readLeases returns the sandboxes that hold an address, by the file of the address.
func readLeases(t *testing.T, c *e2e.Containerd) map[string]string {
	t.Helper()
	found, err := filepath.Glob(c.Dir + "/leases/*/10.*")
	require.NoError(t, err)
	ids := map[string]string{}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		id, _, _ := strings.Cut(string(text), "\r\n")
		ids[file] = id
	}
	return ids
}

// slowNetwork makes sandboxes wait for a file called go in the directory that it
// returns: late, before an address is taken, or else after that. As long as there is a
// file called hold no address is given back.
func (s *scene) slowNetwork(late bool) string {
	s.Helper()
	const here = "/usr/lib/cni"
	dir, plugins := s.TempDir(), s.TempDir()
	for _, name := range []string{"loopback", "portmap"} {
		require.NoError(s, os.Symlink(filepath.Join(here, name), filepath.Join(plugins, name)))
	}
	bridge := fmt.Sprintf("#!/bin/sh\nPATH=/usr/bin:/bin\nif test $CNI_COMMAND = DEL; then while test -e %[1]s/hold; do touch %[1]s/leaving; sleep 0.02; done; fi\nexec %[2]s/bridge\n", dir, here)
	require.NoError(s, os.WriteFile(filepath.Join(plugins, "bridge"), []byte(bridge), 0o700))
	// The plugin reads its configuration before it signals the test, because the test may then kill the writer of the
	// configuration.
	first, second := `printf %s "$conf" | `+here+"/host-local; code=$?", fmt.Sprintf("test $CNI_COMMAND != ADD || { touch %[1]s/asked; until test -e %[1]s/go; do sleep 0.02; done; }", dir)
	if late {
		first, second = second, first
	}
	script := fmt.Sprintf("#!/bin/sh\nPATH=/usr/bin:/bin\nconf=$(cat)\n%s\n%s\ntest $CNI_COMMAND != ADD || touch %s/done\nexit $code\n", first, second, dir)
	require.NoError(s, os.WriteFile(filepath.Join(plugins, "host-local"), []byte(script), 0o700))
	s.c.Kill()
	s.c.Plugins(plugins)
	s.c.Restart()
	return dir
}

// bareSandbox makes a sandbox by a bare call.
func (s *scene) bareSandbox(ctx context.Context) error {
	_, err := s.cri.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: "net", Namespace: "default", Uid: "net"}, Linux: &cri.LinuxPodSandboxConfig{},
	}})
	return err
}

func fileExists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
