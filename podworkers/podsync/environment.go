package podsync

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/find"
	"github.com/podkeel/podkeel/runtime"
)

// resolveEnvironment returns the environment variables of the container. It reads the ConfigMaps, Secrets,
// Services and volume files that they need. It records a Warning event for variables that cannot be used. The
// error names the reference that cannot be resolved, or is the error of a read or of ctx.
func (st *containerStart) resolveEnvironment(ctx context.Context) (environ.Environment, error) {
	objects, err := st.findEnvObjects(ctx, environ.ObjectRefs(st.Container))
	if err != nil {
		return environ.Environment{}, err
	}
	services, err := st.findServices(ctx)
	if err != nil {
		return environ.Environment{}, err
	}
	files := st.readVolumeFiles(ctx, environ.FileRefs(st.Container))
	if err := ctx.Err(); err != nil {
		return environ.Environment{}, err
	}
	hosts := st.hostIPs()
	env, warnings, err := environ.Resolve(environ.Input{
		Pod: st.pod, Container: st.Container, Objects: objects, Files: files, Services: services,
		PodIPs: st.podIPs(hosts), HostIPs: hosts, Allocatable: st.cfg.Allocatable,
	})
	if len(warnings) > 0 {
		st.recordWarning(st.Name, eventInvalidVariables, "Container %s: %s", st.Name, strings.Join(warnings, "; "))
	}
	return env, err
}

// findEnvObjects reads the ConfigMaps and Secrets in the references, within Config.CallTimeout in total. It
// leaves out objects that do not exist, because a reference may be optional.
func (p *podStarter) findEnvObjects(ctx context.Context, refs []environ.ObjectRef) (found environ.Objects, err error) {
	err = p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) error {
		found, err = find.FindObjects(ctx, p.cfg.Objects, p.pod.Namespace, refs)
		return err
	})
	return found, err
}

// readVolumeFiles reads the volume files to which environment variables refer. It returns nil if there are no
// references or Config.Volumes cannot read files. If a file cannot be read, its entry in the result has the
// error.
func (p *podStarter) readVolumeFiles(ctx context.Context, refs []environ.FileRef) map[environ.FileRef]environ.File {
	reader, ok := p.cfg.Volumes.(VolumeFileReader)
	if !ok || len(refs) == 0 {
		return nil
	}
	files := make(map[environ.FileRef]environ.File, len(refs))
	for _, need := range refs {
		var file environ.File
		file.Err = p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) (err error) {
			file.Data, file.More, err = reader.ReadVolumeFile(ctx, p.pod, need.Volume, need.Path, environ.MaxFileBytes)
			return err
		})
		files[need] = file
	}
	return files
}

// findServices returns the Services whose addresses become environment variables of the pod's containers. It
// returns nil if Config.Services is not set.
func (p *podStarter) findServices(ctx context.Context) (found []*v1.Service, err error) {
	if p.cfg.Services == nil {
		return nil, nil
	}
	err = p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) error {
		found, err = p.cfg.Services.Services(ctx, p.pod)
		return err
	})
	return found, err
}

// hostIPs returns the current addresses of the node from Config.NodeIPs. It returns Config.HostIPs if NodeIPs
// is not set, returns nothing or panics.
func (s *Syncer) hostIPs() (ips []string) {
	if s.cfg.NodeIPs != nil {
		_ = s.guard.Call("NodeIPs", func() { ips = s.cfg.NodeIPs() }) // The guard logs a panic.
	}
	if len(ips) == 0 {
		return s.cfg.HostIPs
	}
	return ips
}

// podIPs returns the addresses of the pod's newest sandbox, or nil if the pod has no sandbox. For a pod in the
// host network it returns nodeIPs. Sandboxes of former pods with the same UID do not count.
func (p *syncPass) podIPs(nodeIPs []string) []string {
	if p.pod.Spec.HostNetwork {
		return nodeIPs
	}
	var newest *runtime.SandboxStatus
	for i := range p.status.Sandboxes {
		b := &p.status.Sandboxes[i]
		if b.Incarnation == p.incarnation.number && (newest == nil || b.Attempt > newest.Attempt) {
			newest = b
		}
	}
	if newest == nil {
		return nil
	}
	return newest.IPs
}
