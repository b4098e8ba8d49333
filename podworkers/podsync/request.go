package podsync

import (
	"cmp"
	"context"
	"fmt"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// node is what the node contributes to requests.
func (c *Config) node() request.Node {
	return request.Node{
		ClusterDNS: c.DNS.ClusterDNS, ClusterDomain: c.DNS.ClusterDomain, SeccompRoot: c.SeccompRoot,
		LogRoot: c.LogRoot, MemoryBytes: c.MemoryBytes,
	}
}

// sandboxRequest is what the runtime is told of a pod. Its error says what the
// spec asks for and cannot be.
func (s *Syncer) sandboxRequest(v *syncPass, attempt uint32) (runtime.RunSandboxRequest, error) {
	host, err := s.cfg.DNS.hostFor(v.pod)
	if err != nil {
		return runtime.RunSandboxRequest{}, err
	}
	node := s.node
	err = s.guard.Do("RuntimeClass", func() { node.Handlers = handlers(v.pod, s.cfg.Handlers, s.cfg.RuntimeClass) })
	if err != nil {
		return runtime.RunSandboxRequest{}, err
	}
	if class := v.pod.Spec.RuntimeClassName; class != nil && *class != "" {
		if _, known := node.Handlers[*class]; !known { // It was known when the pod was admitted.
			return runtime.RunSandboxRequest{}, fmt.Errorf("spec.runtimeClassName: the class %q is not known", *class)
		}
	}
	req, warnings, err := node.Sandbox(v.pod, v.ref(), attempt, host)
	for _, text := range warnings {
		s.warn(v, "", eventDNS, "%s", text)
	}
	if decides, ok := s.cfg.Logs.(LogDirectory); ok && err == nil {
		dir, failed := decides.LogDir(v.ref())
		req.LogDir, err = cmp.Or(dir, req.LogDir), failed
	}
	return req, err
}

// containerRequest is what the runtime is told of a container. Its error says
// what the spec asks for and cannot be.
func (s *Syncer) containerRequest(ctx context.Context, v *syncPass, st *plan.Held, sandbox string, image resolvedImage) (runtime.CreateContainerRequest, error) {
	c := st.Container
	target, err := v.pidTarget(c.Name, sandbox)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	security, err := s.node.Security(v.pod, c, image.Image)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	env, err := s.environment(ctx, v, c)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	mounts, err := s.mounts(ctx, v, c, &env, st.Attempt)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	return s.node.Container(request.Container{
		Pod: v.pod, Ref: v.ref(), Container: c, Attempt: st.Attempt, SandboxID: sandbox,
		Image: image.Image, Environment: &env, Mounts: mounts, Security: security, PIDTarget: target,
	}), nil
}

// pidTarget is the newest record, in a sandbox, of the container whose processes a container sees.
func (v *syncPass) pidTarget(container, sandbox string) (id string, err error) {
	target := request.PIDTarget(v.pod, container)
	if target == "" {
		return "", nil
	}
	var newest *runtime.ContainerStatus
	for i := range v.status.Containers {
		if c := &v.status.Containers[i]; c.Name == target && c.SandboxID == sandbox && (newest == nil || c.Attempt > newest.Attempt) {
			newest = c
		}
	}
	if newest == nil {
		return "", fmt.Errorf("unable to find target container %s", target)
	}
	return newest.ID, nil
}
