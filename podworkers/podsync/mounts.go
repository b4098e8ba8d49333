package podsync

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/runtime"
)

// setUp brings the pod's volumes up to date. What runs goes on if that fails,
// and nothing is started.
func (s *Syncer) setUp(ctx context.Context, v *visit) error {
	if s.cfg.Volumes == nil || len(v.pod.Spec.Volumes) == 0 {
		return nil
	}
	err := s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) error { return s.cfg.Volumes.SetUp(ctx, v.pod) })
	switch {
	case err == nil:
		return nil
	case cut(ctx, err):
		return err
	}
	s.cfg.Recorder.Eventf(v.pod, v1.EventTypeWarning, "FailedMount", "The volumes of the pod cannot be set up: %v", err)
	return fmt.Errorf("podsync: %w", err)
}

// tearDown removes what setUp has made. Nothing of the pod runs any more.
func (s *Syncer) tearDown(ctx context.Context, v *visit) error {
	if s.cfg.Volumes == nil {
		return nil
	}
	err := s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) error { return s.cfg.Volumes.TearDown(ctx, v.pod.UID) })
	if err != nil {
		return fmt.Errorf("podsync: the volumes are still there: %w", err)
	}
	return nil
}

// mounts are all that a container sees of the host's files.
func (s *Syncer) mounts(ctx context.Context, v *visit, c *v1.Container, env *environ.Environment, attempt uint32) (mounts []runtime.Mount, err error) {
	if s.cfg.Volumes != nil && len(c.VolumeMounts) > 0 {
		if mounts, err = s.cfg.Volumes.Mounts(ctx, v.pod, c, env.Expand); err != nil {
			return nil, err
		}
	}
	if s.cfg.Files == nil {
		return mounts, nil
	}
	const hosts = "/etc/hosts"
	if !isMounted(c, hosts) {
		path, err := s.cfg.Files.Hosts(v.pod, v.addresses(s.cfg.HostIPs), []string{hostname(v.pod)})
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, runtime.Mount{ContainerPath: hosts, HostPath: path})
	}
	return mounts, nil
}

// isMounted reports whether a container mounts something of its own at a path.
func isMounted(c *v1.Container, path string) bool {
	for i := range c.VolumeMounts {
		if c.VolumeMounts[i].MountPath == path {
			return true
		}
	}
	return false
}
