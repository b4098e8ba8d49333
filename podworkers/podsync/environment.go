package podsync

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/find"
	"github.com/podkeel/podkeel/runtime"
)

// environment is what a container is told at its start. Its error says what the
// spec asks for and cannot be had.
func (s *Syncer) environment(ctx context.Context, v *syncPass, c *v1.Container) (environ.Environment, error) {
	objects, err := s.objects(ctx, v, environ.Needs(c))
	if err != nil {
		return environ.Environment{}, err
	}
	services, err := s.services(ctx, v)
	if err != nil {
		return environ.Environment{}, err
	}
	files := s.readVolumeFiles(ctx, v, environ.FileNeeds(c))
	if err := ctx.Err(); err != nil {
		return environ.Environment{}, err
	}
	hosts := s.hostIPs()
	env, warnings, err := environ.Resolve(environ.Input{
		Pod: v.pod, Container: c, Objects: objects, Files: files, Services: services,
		PodIPs: v.addresses(hosts), HostIPs: hosts, Allocatable: s.cfg.Allocatable,
	})
	if len(warnings) > 0 {
		s.warn(v, c.Name, eventInvalidVariables, "Container %s: %s", c.Name, strings.Join(warnings, "; "))
	}
	return env, err
}

// objects finds what a container refers to. What does not exist is left out: it
// may be optional.
func (s *Syncer) objects(ctx context.Context, v *syncPass, needs []environ.Need) (found environ.Objects, err error) {
	err = s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) error {
		found, err = find.Objects(ctx, s.cfg.Objects, v.pod.Namespace, needs)
		return err
	})
	return found, err
}

// readVolumeFiles reads the files from which variables of a container come. The first variable of a
// file that cannot be read tells why.
func (s *Syncer) readVolumeFiles(ctx context.Context, v *syncPass, needs []environ.FileNeed) map[environ.FileNeed]environ.File {
	reader, ok := s.cfg.Volumes.(VolumeFileReader)
	if !ok || len(needs) == 0 {
		return nil
	}
	files := make(map[environ.FileNeed]environ.File, len(needs))
	for _, need := range needs {
		var file environ.File
		file.Err = s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) (err error) {
			file.Data, file.More, err = reader.ReadVolumeFile(ctx, v.pod, need.Volume, need.Path, environ.MaxFileBytes)
			return err
		})
		files[need] = file
	}
	return files
}

// services finds those that the variables of the pod may tell of.
func (s *Syncer) services(ctx context.Context, v *syncPass) (found []*v1.Service, err error) {
	if s.cfg.Services == nil {
		return nil, nil
	}
	err = s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) error {
		found, err = s.cfg.Services.Services(ctx, v.pod)
		return err
	})
	return found, err
}

// hostIPs are the addresses of the node at the moment, primary first.
func (s *Syncer) hostIPs() (ips []string) {
	if s.cfg.NodeIPs != nil {
		_ = s.guard.Do("NodeIPs", func() { ips = s.cfg.NodeIPs() }) // The log names a panic.
	}
	if len(ips) == 0 {
		return s.cfg.HostIPs
	}
	return ips
}

// addresses are those of the pod, primary first: of its newest sandbox of this
// life, or of the node.
func (v *syncPass) addresses(node []string) []string {
	if v.pod.Spec.HostNetwork {
		return node
	}
	var newest *runtime.SandboxStatus
	for i := range v.status.Sandboxes {
		b := &v.status.Sandboxes[i]
		if b.Incarnation == v.incarnation.number && (newest == nil || b.Attempt > newest.Attempt) {
			newest = b
		}
	}
	if newest == nil {
		return nil
	}
	return newest.IPs
}
