package podsync

import (
	"cmp"
	"context"
	"fmt"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// node returns the part of requests that is the same for all pods of the node.
func (c *Config) node() request.Node {
	return request.Node{
		ClusterDNS: c.DNS.ClusterDNS, ClusterDomain: c.DNS.ClusterDomain, SeccompRoot: c.SeccompRoot,
		LogRoot: c.LogRoot, MemoryBytes: c.MemoryBytes,
	}
}

// sandboxRequest returns the request that creates a sandbox of the pod. Its error names a field of the
// spec that cannot be honoured.
func (p *podStarter) sandboxRequest(attempt uint32) (runtime.RunSandboxRequest, error) {
	host, err := p.cfg.DNS.hostFor(p.pod)
	if err != nil {
		return runtime.RunSandboxRequest{}, err
	}
	node := p.node
	err = p.guard.Call("RuntimeClass", func() { node.Handlers = handlers(p.pod, p.cfg.Handlers, p.cfg.RuntimeClass) })
	if err != nil {
		return runtime.RunSandboxRequest{}, err
	}
	if class := p.pod.Spec.RuntimeClassName; class != nil && *class != "" {
		if _, known := node.Handlers[*class]; !known { // It was known when the pod was admitted.
			return runtime.RunSandboxRequest{}, fmt.Errorf("spec.runtimeClassName: the class %q is not known", *class)
		}
	}
	req, warnings, err := node.Sandbox(p.pod, p.podRef(), attempt, host)
	for _, text := range warnings {
		p.recordWarning("", eventDNS, "%s", text)
	}
	if decides, ok := p.cfg.Logs.(LogDirectory); ok && err == nil {
		dir, failed := decides.LogDir(p.podRef())
		req.LogDir, err = cmp.Or(dir, req.LogDir), failed
	}
	return req, err
}

// containerRequest returns the request that creates the container. Its error names a field of the spec
// that cannot be honoured.
func (st *containerStart) containerRequest(ctx context.Context, image resolvedImage) (runtime.CreateContainerRequest, error) {
	c := st.Container
	target, err := st.pidTarget(c.Name, st.SandboxID)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	security, err := st.node.Security(st.pod, c, image.Image)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	env, err := st.resolveEnvironment(ctx)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	mounts, err := st.containerMounts(ctx, &env)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	return st.node.Container(request.Container{
		Pod: st.pod, Ref: st.podRef(), Container: c, Attempt: st.Attempt, SandboxID: st.SandboxID,
		Image: image.Image, Environment: &env, Mounts: mounts, Security: security, PIDTarget: target,
	}), nil
}

// pidTarget returns the ID of the container in a sandbox whose processes a container sees. It returns the
// empty string if the container sees its own only.
func (p *podStarter) pidTarget(container, sandbox string) (id string, err error) {
	target := request.PIDTarget(p.pod, container)
	if target == "" {
		return "", nil
	}
	var newest *runtime.ContainerStatus
	for i := range p.status.Containers {
		if c := &p.status.Containers[i]; c.Name == target && c.SandboxID == sandbox && (newest == nil || c.Attempt > newest.Attempt) {
			newest = c
		}
	}
	if newest == nil {
		return "", fmt.Errorf("unable to find target container %s", target)
	}
	return newest.ID, nil
}
