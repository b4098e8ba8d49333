//go:build linux

package clusterlab_test

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// bareLife is a pod made by the calls of CRI that cannot be spared.
type bareLife struct {
	*contest
	runtime            cri.RuntimeServiceClient
	images             cri.ImageServiceClient
	config             *cri.PodSandboxConfig
	mounts             []*cri.Mount
	sandbox, container string
}

// bareOf prepares one: it has the files that every pod has.
func (c *contest) bareOf(name string) *bareLife {
	containerd := c.containerd[bareNode]
	dir := filepath.Join(containerd.Dir, "bare", name)
	require.NoError(c, os.MkdirAll(dir, 0o755))
	b := &bareLife{contest: c, runtime: cri.NewRuntimeServiceClient(containerd.Conn()), images: cri.NewImageServiceClient(containerd.Conn()), config: &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name}, Hostname: name, LogDirectory: dir,
		Linux: &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: &cri.NamespaceOption{}}},
	}}
	for _, path := range []string{"/etc/hosts", "/dev/termination-log"} {
		host := filepath.Join(dir, filepath.Base(path))
		require.NoError(c, os.WriteFile(host, nil, 0o644))
		b.mounts = append(b.mounts, &cri.Mount{ContainerPath: path, HostPath: host})
	}
	return b
}

func (b *bareLife) startPod() {
	made, err := b.runtime.RunPodSandbox(b.Context(), &cri.RunPodSandboxRequest{Config: b.config})
	require.NoError(b, err)
	b.sandbox = made.GetPodSandboxId()
	image := &cri.ImageSpec{Image: b.containerd[bareNode].Registry.Image()}
	_, err = b.images.ImageStatus(b.Context(), &cri.ImageStatusRequest{Image: image})
	require.NoError(b, err)
	container, err := b.runtime.CreateContainer(b.Context(), &cri.CreateContainerRequest{PodSandboxId: b.sandbox, SandboxConfig: b.config, Config: &cri.ContainerConfig{
		Metadata: &cri.ContainerMetadata{Name: "main"}, Image: image, LogPath: "main.log", Mounts: b.mounts,
		Command: b.makePod(bareNode, "", false).Spec.Containers[0].Command,
		Linux: &cri.LinuxContainerConfig{
			Resources: &cri.LinuxContainerResources{},
			SecurityContext: &cri.LinuxContainerSecurityContext{
				NamespaceOptions: &cri.NamespaceOption{Pid: cri.NamespaceMode_CONTAINER},
				MaskedPaths:      []string{"/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"},
				ReadonlyPaths:    []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
			},
		},
	}})
	require.NoError(b, err)
	b.container = container.GetContainerId()
	_, err = b.runtime.StartContainer(b.Context(), &cri.StartContainerRequest{ContainerId: b.container})
	require.NoError(b, err)
}

func (b *bareLife) stopPod() {
	_, err := b.runtime.StopContainer(b.Context(), &cri.StopContainerRequest{ContainerId: b.container, Timeout: 1})
	require.NoError(b, err)
	_, err = b.runtime.StopPodSandbox(b.Context(), &cri.StopPodSandboxRequest{PodSandboxId: b.sandbox})
	require.NoError(b, err)
}

func (b *bareLife) removeSandbox() {
	_, err := b.runtime.RemovePodSandbox(b.Context(), &cri.RemovePodSandboxRequest{PodSandboxId: b.sandbox})
	require.NoError(b, err)
}
