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

// createMountFiles creates the host files that a pod mounts, and returns the mounts. The files exist before a
// measurement starts.
func (w *harness) createMountFiles(pod string) (mounts []*cri.Mount) {
	for _, path := range files {
		host := filepath.Join(w.createCRILogDir(pod), filepath.Base(path))
		w.failOnError(os.WriteFile(host, nil, 0o644))
		mounts = append(mounts, &cri.Mount{ContainerPath: path, HostPath: host})
	}
	return mounts
}

// newCRIPodWithFiles returns a pod with the sandbox configuration that the agent would use. It creates the log
// directory and the mounted files of the pod, and does not call the runtime.
func (w *harness) newCRIPodWithFiles(name string) *bare {
	return &bare{w: w, name: name, mounts: w.createMountFiles(name), config: &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name},
		Hostname:     name,
		LogDirectory: w.createCRILogDir(name),
		Labels:       map[string]string{nameLabel: name, uidLabel: name, bareLabel: "true"},
		Linux:        &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: &cri.NamespaceOption{}}},
	}}
}

// runSandboxAndContainer runs the sandbox, asks for the status of the image as the agent does, and starts the
// first container.
func (b *bare) runSandboxAndContainer() error {
	made, err := b.w.runtime.RunPodSandbox(context.Background(), &cri.RunPodSandboxRequest{Config: b.config})
	if err != nil {
		return err
	}
	b.sandbox = made.GetPodSandboxId()
	image := &cri.ImageSpec{Image: b.w.imageName()}
	if _, err := b.w.images.ImageStatus(context.Background(), &cri.ImageStatusRequest{Image: image}); err != nil {
		return err
	}
	return b.startContainer(0)
}

// startContainer creates and starts the container with this attempt, and stores its ID.
func (b *bare) startContainer(attempt uint32) error {
	made, err := b.w.runtime.CreateContainer(context.Background(), &cri.CreateContainerRequest{
		PodSandboxId: b.sandbox, SandboxConfig: b.config,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "main", Attempt: attempt},
			Image:    &cri.ImageSpec{Image: b.w.imageName()},
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

// waitForExitAndStartReplacement polls until the first container has exited, and then creates and starts its
// replacement.
func (b *bare) waitForExitAndStartReplacement() error {
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

// stopContainerAndSandbox stops the container, with a timeout of 30 seconds, and then the sandbox.
func (b *bare) stopContainerAndSandbox() error {
	_, err := b.w.runtime.StopContainer(context.Background(), &cri.StopContainerRequest{ContainerId: b.container, Timeout: 30})
	if err != nil {
		return err
	}
	_, err = b.w.runtime.StopPodSandbox(context.Background(), &cri.StopPodSandboxRequest{PodSandboxId: b.sandbox})
	return err
}

// removeSandbox removes the stopped sandbox and so its containers. No measurement includes it.
func (b *bare) removeSandbox() error {
	_, err := b.w.runtime.RemovePodSandbox(context.Background(), &cri.RemovePodSandboxRequest{PodSandboxId: b.sandbox})
	return err
}
