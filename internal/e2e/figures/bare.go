//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// bare is a pod made by the calls that cannot be spared, and nothing else: the
// floor that no agent gets below.
type bare struct {
	w                  *harness
	name               string
	config             *cri.PodSandboxConfig
	mounts             []*cri.Mount
	sandbox, container string
}

// What every container has that a kubelet, or the agent, makes: paths that it must
// not see or write, a hosts file and a file for its termination message.
var (
	masked = []string{
		"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap",
	}
	readOnly = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
	files    = []string{"/etc/hosts", "/dev/termination-log"}
)

// mountPaths returns the mounts of a pod. Their files exist before a measurement starts.
func (w *harness) mountPaths(pod string) (mounts []*cri.Mount) {
	for _, path := range files {
		host := filepath.Join(w.criLogDir(pod), filepath.Base(path))
		w.check(os.WriteFile(host, nil, 0o644))
		mounts = append(mounts, &cri.Mount{ContainerPath: path, HostPath: host})
	}
	return mounts
}

// newCRIPod returns a pod with the configuration that the agent would use. It calls nothing.
func (w *harness) newCRIPod(name string) *bare {
	return &bare{w: w, name: name, mounts: w.mountPaths(name), config: &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name},
		Hostname:     name,
		LogDirectory: w.criLogDir(name),
		Labels:       map[string]string{nameLabel: name, uidLabel: name, bareLabel: "true"},
		Linux:        &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: &cri.NamespaceOption{}}},
	}}
}

// runSandboxAndContainer runs the sandbox and starts the first container.
func (b *bare) runSandboxAndContainer() error {
	made, err := b.w.runtime.RunPodSandbox(context.Background(), &cri.RunPodSandboxRequest{Config: b.config})
	if err != nil {
		return err
	}
	b.sandbox = made.GetPodSandboxId()
	image := &cri.ImageSpec{Image: b.w.image()}
	if _, err := b.w.images.ImageStatus(context.Background(), &cri.ImageStatusRequest{Image: image}); err != nil {
		return err
	}
	return b.startContainer(0)
}

// startContainer creates and starts a container.
func (b *bare) startContainer(attempt uint32) error {
	made, err := b.w.runtime.CreateContainer(context.Background(), &cri.CreateContainerRequest{
		PodSandboxId: b.sandbox, SandboxConfig: b.config,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "main", Attempt: attempt},
			Image:    &cri.ImageSpec{Image: b.w.image()},
			Command:  []string{"sh", "-c", command},
			Labels:   b.config.GetLabels(),
			LogPath:  "main.log",
			Mounts:   b.mounts,
			Linux: &cri.LinuxContainerConfig{
				Resources: &cri.LinuxContainerResources{},
				SecurityContext: &cri.LinuxContainerSecurityContext{
					NamespaceOptions: &cri.NamespaceOption{Pid: cri.NamespaceMode_CONTAINER},
					MaskedPaths:      masked, ReadonlyPaths: readOnly,
				},
			},
		},
	})
	if err != nil {
		return err
	}
	b.container = made.GetContainerId()
	_, err = b.w.runtime.StartContainer(context.Background(), &cri.StartContainerRequest{ContainerId: b.container})
	return err
}

// startReplacement creates and starts the next container as soon as the first container has exited.
func (b *bare) startReplacement() error {
	for {
		status, err := b.w.runtime.ContainerStatus(context.Background(), &cri.ContainerStatusRequest{ContainerId: b.container})
		if err != nil {
			return err
		}
		if status.GetStatus().GetState() == cri.ContainerState_CONTAINER_EXITED {
			return b.startContainer(1)
		}
		time.Sleep(time.Millisecond)
	}
}

// stop stops the container and the sandbox.
func (b *bare) stop() error {
	_, err := b.w.runtime.StopContainer(context.Background(), &cri.StopContainerRequest{ContainerId: b.container, Timeout: 30})
	if err != nil {
		return err
	}
	_, err = b.w.runtime.StopPodSandbox(context.Background(), &cri.StopPodSandboxRequest{PodSandboxId: b.sandbox})
	return err
}

// remove removes the stopped container and its sandbox. No measurement includes it.
func (b *bare) remove() error {
	_, err := b.w.runtime.RemovePodSandbox(context.Background(), &cri.RemovePodSandboxRequest{PodSandboxId: b.sandbox})
	return err
}
