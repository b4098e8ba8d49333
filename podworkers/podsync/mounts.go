package podsync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// setUp brings the pod's volumes up to date. What runs goes on if that fails,
// and nothing is started.
func (s *Syncer) setUp(ctx context.Context, v *syncPass) error {
	if s.cfg.Volumes == nil || len(v.pod.Spec.Volumes) == 0 {
		return nil
	}
	setUp := func() error {
		return s.refresher.setUp(v.pod, func() error {
			return s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) error { return s.cfg.Volumes.SetUp(ctx, v.pod) })
		})
	}
	err := setUp()
	if errors.Is(err, ErrVolumesOfAnotherPod) && s.removeForeignRecords(ctx, v) {
		err = setUp()
	}
	switch {
	case err == nil:
		return nil
	case cut(ctx, err):
		return err
	}
	s.warn(v, "", eventMount, "The volumes of the pod cannot be set up: %v", err)
	return fmt.Errorf("podsync: %w", err)
}

// tearDown removes what setUp has made. Nothing of the pod runs any more.
func (s *Syncer) tearDown(ctx context.Context, v *syncPass) error {
	if s.cfg.Volumes == nil {
		return nil
	}
	err := s.refresher.tearDown(v.pod.UID, func() error {
		return s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) error { return s.cfg.Volumes.TearDown(ctx, v.pod.UID) })
	})
	if err != nil {
		return fmt.Errorf("podsync: the volumes are still there: %w", err)
	}
	return nil
}

// mounts are all that a container sees of the host's files.
func (s *Syncer) mounts(ctx context.Context, v *syncPass, c *v1.Container, env *environ.Environment, attempt uint32) (mounts []runtime.Mount, err error) {
	if s.cfg.Volumes != nil && len(c.VolumeMounts) > 0 {
		if mounts, err = s.cfg.Volumes.Mounts(ctx, v.pod, c, env.Expand); err != nil {
			return nil, err
		}
		v.setMountImages(mounts)
	}
	if s.cfg.Files == nil {
		return mounts, nil
	}
	hosts, err := s.hostsMount(v, c)
	if errors.Is(err, ErrVolumesOfAnotherPod) && s.removeForeignRecords(ctx, v) {
		hosts, err = s.hostsMount(v, c)
	}
	if err != nil {
		return nil, err
	}
	message, err := s.messageMount(v, c, attempt)
	if errors.Is(err, ErrVolumesOfAnotherPod) && s.removeForeignRecords(ctx, v) {
		message, err = s.messageMount(v, c, attempt)
	}
	if err != nil {
		return nil, err
	}
	return slices.Concat(mounts, hosts, message), nil
}

// hostsMount gives a container the hosts file of its pod, unless it has one of
// its own, or the pod has no address to write down.
func (s *Syncer) hostsMount(v *syncPass, c *v1.Container) ([]runtime.Mount, error) {
	const at = "/etc/hosts"
	ips := v.addresses(s.hostIPs())
	if request.IsMounted(c, at) || (len(ips) == 0 && !v.pod.Spec.HostNetwork && len(v.pod.Spec.HostAliases) == 0) {
		return nil, nil
	}
	names, err := s.node.Names(v.pod)
	if err != nil {
		return nil, err
	}
	file, err := s.cfg.Files.Hosts(v.pod, ips, names.Hosts)
	if err != nil {
		return nil, fmt.Errorf("the hosts file: %w", err)
	}
	readOnly := c.SecurityContext != nil && c.SecurityContext.ReadOnlyRootFilesystem != nil && *c.SecurityContext.ReadOnlyRootFilesystem
	return []runtime.Mount{{ContainerPath: at, HostPath: file, ReadOnly: readOnly}}, nil
}
