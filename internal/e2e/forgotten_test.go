//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// A containerd that is killed when a process has run, and its start is not over,
// has forgotten that on 2.4, and starts the container once more: what runtime/cri
// says of it, and TestRestart excuses. 1.6 finds that it has ended.
func TestForgotten(t *testing.T) {
	skipUnlessLong(t)
	for version, want := range map[e2e.Version]cri.ContainerState{
		e2e.Containerd2: cri.ContainerState_CONTAINER_CREATED, e2e.Containerd16: cri.ContainerState_CONTAINER_EXITED,
	} {
		t.Run(string(version), func(t *testing.T) {
			s := newScene(t, e2e.Start(t, version), &e2e.Agent{})
			dir := s.slowStart()
			id := s.bareJob(dir)
			require.NoError(t, os.Remove(filepath.Join(dir, "go")))
			begun := make(chan error, 1)
			go func() { begun <- s.startContainer(id) }()
			s.waitFor("it has run", soon, func() bool { return readFile(dir, "runs") == "x" })
			s.c.Kill()
			require.Error(t, <-begun)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
			s.c.Restart()
			require.Equal(t, want, s.containerStatus(id).State)
			if want == cri.ContainerState_CONTAINER_CREATED {
				require.NoError(t, s.startContainer(id))
				s.waitFor("it runs again", soon, func() bool { return strings.Count(readFile(dir, "runs"), "x") == 2 })
				return
			}
			assert.Zero(t, s.containerStatus(id).ExitCode)
			require.Error(t, s.startContainer(id))
		})
	}
}

// slowStart makes starts wait, once the process runs, for a file called go in the
// directory that it returns.
func (s *scene) slowStart() string {
	s.Helper()
	runc, err := exec.LookPath("runc")
	require.NoError(s, err)
	dir, programs := s.TempDir(), s.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s \"$@\"; code=$?\ncase \" $* \" in *' start '*) while ! test -e %s/go; do sleep 0.02; done;; esac\nexit $code\n", runc, dir)
	require.NoError(s, os.WriteFile(filepath.Join(programs, "runc"), []byte(script), 0o700))
	require.NoError(s, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	s.c.Kill()
	s.c.Prefer(programs)
	s.c.Restart()
	return dir
}

// bareJob makes a container, by bare calls, that writes down each of its runs.
func (s *scene) bareJob(dir string) string {
	s.Helper()
	ctx, cancel := s.callContext()
	defer cancel()
	_, err := cri.NewImageServiceClient(s.c.Conn()).PullImage(ctx, &cri.PullImageRequest{Image: &cri.ImageSpec{Image: s.c.Registry.Image()}})
	require.NoError(s, err)
	pod := &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: "job", Namespace: "default", Uid: "job"}, Linux: &cri.LinuxPodSandboxConfig{},
	}
	p, err := s.cri.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: pod})
	require.NoError(s, err)
	c, err := s.cri.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: p.PodSandboxId, SandboxConfig: pod, Config: &cri.ContainerConfig{
		Metadata: &cri.ContainerMetadata{Name: "job"}, Image: &cri.ImageSpec{Image: s.c.Registry.Image()}, Linux: &cri.LinuxContainerConfig{},
		Command: []string{"sh", "-c", "echo x >> /count/runs"},
		Mounts:  []*cri.Mount{{HostPath: dir, ContainerPath: "/count"}},
	}})
	require.NoError(s, err)
	return c.ContainerId
}

func (s *scene) startContainer(id string) error {
	ctx, cancel := s.callContext()
	defer cancel()
	_, err := s.cri.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: id})
	return err
}
