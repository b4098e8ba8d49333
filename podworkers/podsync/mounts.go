package podsync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// setUpVolumes sets up the volumes of the pod, or updates them. After an error nothing is started; what
// runs goes on.
func (p *podStarter) setUpVolumes(ctx context.Context) error {
	if p.cfg.Volumes == nil || len(p.pod.Spec.Volumes) == 0 {
		return nil
	}
	setUp := func() error {
		return p.refresher.setUp(p.pod, func() error {
			return p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) error { return p.cfg.Volumes.SetUp(ctx, p.pod) })
		})
	}
	err := setUp()
	if errors.Is(err, ErrVolumesOfAnotherPod) && p.removeForeignRecords(ctx) {
		err = setUp()
	}
	switch {
	case err == nil:
		return nil
	case isCancelled(ctx, err):
		return err
	}
	p.recordWarning("", eventMount, "The volumes of the pod cannot be set up: %v", err)
	return fmt.Errorf("podsync: %w", err)
}

// tearDownVolumes tears down the volumes of the pod. No container of the pod runs.
func (p *syncPass) tearDownVolumes(ctx context.Context) error {
	if p.cfg.Volumes == nil {
		return nil
	}
	err := p.refresher.tearDown(p.pod.UID, func() error {
		return p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) error { return p.cfg.Volumes.TearDown(ctx, p.pod.UID) })
	})
	if err != nil {
		return fmt.Errorf("podsync: the volumes are still there: %w", err)
	}
	return nil
}

// containerMounts returns the mounts of the container: its volumes, the hosts file and the file for its
// termination message.
func (st *containerStart) containerMounts(ctx context.Context, env *environ.Environment) (mounts []runtime.Mount, err error) {
	if st.cfg.Volumes != nil && len(st.Container.VolumeMounts) > 0 {
		if mounts, err = st.cfg.Volumes.Mounts(ctx, st.pod, st.Container, env.Expand); err != nil {
			return nil, err
		}
		st.setMountImages(mounts)
	}
	if st.cfg.Files == nil {
		return mounts, nil
	}
	hosts, err := st.hostsMount()
	if errors.Is(err, ErrVolumesOfAnotherPod) && st.removeForeignRecords(ctx) {
		hosts, err = st.hostsMount()
	}
	if err != nil {
		return nil, err
	}
	message, err := st.messageMount()
	if errors.Is(err, ErrVolumesOfAnotherPod) && st.removeForeignRecords(ctx) {
		message, err = st.messageMount()
	}
	if err != nil {
		return nil, err
	}
	return slices.Concat(mounts, hosts, message), nil
}

// hostsMount returns the mount of the hosts file of the pod, unless the container mounts one itself or
// the pod has no address.
func (st *containerStart) hostsMount() ([]runtime.Mount, error) {
	c := st.Container
	const at = "/etc/hosts"
	ips := st.podIPs(st.hostIPs())
	if request.IsMounted(c, at) || (len(ips) == 0 && !st.pod.Spec.HostNetwork && len(st.pod.Spec.HostAliases) == 0) {
		return nil, nil
	}
	names, err := st.node.Names(st.pod)
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
