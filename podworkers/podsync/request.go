package podsync

import (
	"cmp"
	"context"
	"fmt"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// nodeForRequests returns the settings of the node that all sandbox and container requests share.
func (c *Config) nodeForRequests() request.Node {
	return request.Node{
		ClusterDNS: c.DNS.ClusterDNS, ClusterDomain: c.DNS.ClusterDomain, SeccompRoot: c.SeccompRoot,
		LogRoot: c.LogRoot, MemoryBytes: c.MemoryBytes,
	}
}

// buildSandboxRequest returns the request that creates a sandbox of the pod. It records a Warning event for
// each DNS setting that it cannot use fully. The error names what the node cannot provide, such as the
// RuntimeClass or a field of the spec.
func (p *podStarter) buildSandboxRequest(attempt uint32) (runtime.RunSandboxRequest, error) {
	host, err := p.cfg.DNS.hostDNSFor(p.pod)
	if err != nil {
		return runtime.RunSandboxRequest{}, err
	}
	node := p.node
	err = p.guard.Call("RuntimeClass", func() { node.Handlers = runtimeHandlersForPod(p.pod, p.cfg.Handlers, p.cfg.RuntimeClass) })
	if err != nil {
		return runtime.RunSandboxRequest{}, err
	}
	if class := p.pod.Spec.RuntimeClassName; class != nil && *class != "" {
		if _, known := node.Handlers[*class]; !known { // The class was known when the pod was admitted.
			return runtime.RunSandboxRequest{}, fmt.Errorf("spec.runtimeClassName: the class %q is not known", *class)
		}
	}
	req, warnings, err := node.SandboxRequest(p.pod, p.runtimePodRef(), attempt, host)
	for _, text := range warnings {
		p.recordWarning("", eventDNS, "%s", text)
	}
	req.CgroupDir = p.cgroupDir
	if decides, ok := p.cfg.Logs.(LogDirectory); ok && err == nil {
		dir, failed := decides.LogDir(p.runtimePodRef())
		req.LogDir, err = cmp.Or(dir, req.LogDir), failed
	}
	return req, err
}

// buildContainerRequest returns the request that creates the container. To build it, it resolves the
// environment, creates the mounted files and adds the results of Config.Augment. The error names what cannot be resolved or what the node cannot
// provide.
func (st *containerStart) buildContainerRequest(ctx context.Context, image resolvedImage) (runtime.CreateContainerRequest, error) {
	c := st.Container
	target, err := st.pidTargetID(c.Name, st.SandboxID)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	security, err := st.node.ContainerSecurity(st.pod, c, image.Image)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	env, err := st.resolveEnvironment(ctx)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	mounts, err := st.createContainerMounts(ctx, &env)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	req := st.node.ContainerRequest(request.Container{
		Pod: st.pod, Ref: st.runtimePodRef(), Container: c, Attempt: st.Attempt, SandboxID: st.SandboxID,
		Image: image.Image, Environment: &env, Mounts: mounts, Security: security, PIDTarget: target,
	})
	return req, st.addAdditions(ctx, &req)
}

// pidTargetID returns the ID of the container whose process namespace an ephemeral container joins. It returns
// "" if the container has no target, and an error if the sandbox has no container with the target's name.
func (p *podStarter) pidTargetID(container, sandbox string) (id string, err error) {
	target := request.PIDTargetContainer(p.pod, container)
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
