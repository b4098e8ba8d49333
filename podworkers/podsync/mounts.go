package podsync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
	"github.com/podkeel/podkeel/runtime"
)

// setUpVolumes sets up or updates the volumes of a pod that has any. If the volumes belong to a former pod with
// this UID, it removes the containers and sandboxes of that pod from the runtime and tries once more. If it
// fails, it returns the error, and records Warning events unless ctx has ended.
func (p *podStarter) setUpVolumes(ctx context.Context) error {
	if p.cfg.Volumes == nil || len(p.pod.Spec.Volumes) == 0 {
		return nil
	}
	setUp := func() error {
		return p.refresher.cancelRefreshAndSetUp(p.pod, func() error {
			return p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) error { return p.cfg.Volumes.SetUp(ctx, p.pod) })
		})
	}
	err := setUp()
	if errors.Is(err, ErrVolumesOfAnotherPod) && p.removeRecordsOfPreviousIncarnations(ctx) {
		err = setUp()
	}
	switch {
	case err == nil:
		p.incarnation.volumesSetUp = true
		return nil
	case isCancelled(ctx, err):
		return err
	}
	p.recordFailedMounts(err)
	return fmt.Errorf("podsync: %w", err)
}

// canStartWithoutUpdate reports whether containers may start although setUpVolumes has failed with err: this process has
// set up the volumes of the pod before, and only the files of volumes were not updated. For example, a ConfigMap was
// deleted, or a token has expired during an outage of the API server.
func (p *podStarter) canStartWithoutUpdate(ctx context.Context, err error) bool {
	return p.incarnation.volumesSetUp && volume.IsOnlyNotUpdated(err) && ctx.Err() == nil
}

// recordFailedMounts records a Warning event for each volume that could not be set up, with the words of the kubelet.
// If the error also has a cause that is not about one volume, recordFailedMounts records an event for the whole error.
func (p *podStarter) recordFailedMounts(err error) {
	failed, only := volume.FindSetUpErrors(err)
	for _, f := range failed {
		p.recordWarning("", eventMount, "MountVolume.SetUp failed for volume %q : %v", f.Volume, f.Err)
	}
	if !only {
		p.recordWarning("", eventMount, "The volumes of the pod cannot be set up: %v", err)
	}
}

// tearDownVolumes tears down the volumes of the pod. The caller makes sure that no container of the pod runs.
// It does nothing if Config.Volumes is not set.
func (p *syncPass) tearDownVolumes(ctx context.Context) error {
	if p.cfg.Volumes == nil {
		return nil
	}
	err := p.refresher.cancelRefreshAndTearDown(p.pod.UID, func() error {
		return p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) error { return p.cfg.Volumes.TearDown(ctx, p.pod.UID) })
	})
	if err != nil {
		return fmt.Errorf("podsync: cannot tear down the volumes: %w", err)
	}
	return nil
}

// createContainerMounts returns the mounts of the container: its volumes, the hosts file and the file for the
// termination message. It creates both files if Config.Files is set. It leaves out a file where the container
// mounts something else. If a file belongs to a former pod with this UID, it removes the containers and
// sandboxes of that pod from the runtime and tries once more.
func (st *containerStart) createContainerMounts(ctx context.Context, env *environ.Environment) (mounts []runtime.Mount, err error) {
	if st.cfg.Volumes != nil && len(st.Container.VolumeMounts) > 0 {
		if mounts, err = st.cfg.Volumes.Mounts(ctx, st.pod, st.Container, env.Expand); err != nil {
			return nil, err
		}
		st.replaceMountImages(mounts)
	}
	if st.cfg.Files == nil {
		return mounts, nil
	}
	hosts, err := st.createHostsFileMount()
	if errors.Is(err, ErrVolumesOfAnotherPod) && st.removeRecordsOfPreviousIncarnations(ctx) {
		hosts, err = st.createHostsFileMount()
	}
	if err != nil {
		return nil, err
	}
	message, err := st.createTerminationLogMount()
	if errors.Is(err, ErrVolumesOfAnotherPod) && st.removeRecordsOfPreviousIncarnations(ctx) {
		message, err = st.createTerminationLogMount()
	}
	if err != nil {
		return nil, err
	}
	return slices.Concat(mounts, hosts, message), nil
}

// createHostsFileMount writes the hosts file of the pod and returns its mount. It returns nil and writes
// nothing if the container mounts something else at /etc/hosts. It also returns nil for a pod outside the host
// network that has neither addresses nor host aliases.
func (st *containerStart) createHostsFileMount() ([]runtime.Mount, error) {
	c := st.Container
	const at = "/etc/hosts"
	ips := st.podIPs(st.hostIPs())
	if request.HasMountAt(c, at) || (len(ips) == 0 && !st.pod.Spec.HostNetwork && len(st.pod.Spec.HostAliases) == 0) {
		return nil, nil
	}
	names, err := st.node.Hostnames(st.pod)
	if err != nil {
		return nil, err
	}
	file, err := st.cfg.Files.Hosts(st.pod, ips, names.Hosts)
	if err != nil {
		return nil, fmt.Errorf("the hosts file: %w", err)
	}
	readOnly := c.SecurityContext != nil && c.SecurityContext.ReadOnlyRootFilesystem != nil && *c.SecurityContext.ReadOnlyRootFilesystem
	return []runtime.Mount{{ContainerPath: at, HostPath: file, ReadOnly: readOnly}}, nil
}
