package cri

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// PodStatus implements runtime.PodLister. A record that goes between the list
// and its status has gone.
func (r *Runtime) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	l, err := r.list(ctx, uid)
	if err != nil {
		return nil, err
	}
	pods, skipped := convert.Pods(l.sandboxes, l.containers, r.cfg.Owner)
	r.report(ctx, skipped)
	i := slices.IndexFunc(pods, func(p runtime.Pod) bool { return p.UID == uid })
	if i < 0 {
		return &runtime.PodStatus{UID: uid}, nil
	}
	return r.podStatus(ctx, pods[i])
}

// podStatus asks for the statuses of all that was listed.
func (r *Runtime) podStatus(ctx context.Context, listed runtime.Pod) (*runtime.PodStatus, error) {
	sandboxes, containers := len(listed.Sandboxes), len(listed.Containers)
	st := &runtime.PodStatus{
		UID: listed.UID, Name: listed.Name, Namespace: listed.Namespace,
		Sandboxes:  make([]runtime.SandboxStatus, sandboxes),
		Containers: make([]runtime.ContainerStatus, containers),
	}
	errs := make([]error, sandboxes+containers)
	executor.Each(r.executor, r.cfg.Parallel, len(errs), func(i int) {
		if i < sandboxes {
			st.Sandboxes[i], errs[i] = r.sandboxStatus(ctx, listed.Sandboxes[i])
			return
		}
		st.Containers[i-sandboxes], errs[i] = r.containerStatus(ctx, listed.Containers[i-sandboxes])
	})
	for _, err := range errs {
		if err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return nil, err
		}
	}
	st.Sandboxes = slices.DeleteFunc(st.Sandboxes, func(s runtime.SandboxStatus) bool { return s.ID == "" })
	st.Containers = slices.DeleteFunc(st.Containers, func(c runtime.ContainerStatus) bool { return c.ID == "" })
	if len(st.Sandboxes)+len(st.Containers) == 0 {
		return &runtime.PodStatus{UID: listed.UID}, nil
	}
	return st, nil
}

func (r *Runtime) sandboxStatus(ctx context.Context, listed runtime.Sandbox) (runtime.SandboxStatus, error) {
	s, err := r.askSandbox(ctx, listed.ID)
	if err != nil {
		return runtime.SandboxStatus{}, err
	}
	return convert.SandboxStatus(listed, s), nil
}

func (r *Runtime) containerStatus(ctx context.Context, listed runtime.Container) (runtime.ContainerStatus, error) {
	s, err := r.askContainer(ctx, listed.ID)
	if err != nil {
		return runtime.ContainerStatus{}, err
	}
	return convert.ContainerStatus(listed, s), nil
}

// askSandbox is the status of a sandbox, which is of that sandbox.
func (r *Runtime) askSandbox(ctx context.Context, id string) (*cri.PodSandboxStatus, error) {
	res, err := read(ctx, r, "PodSandboxStatus", r.runtime.PodSandboxStatus, &cri.PodSandboxStatusRequest{PodSandboxId: id})
	if err != nil {
		return nil, err
	}
	return res.GetStatus(), answers("sandbox", id, res.GetStatus())
}

// askContainer is the status of a container, which is of that container.
func (r *Runtime) askContainer(ctx context.Context, id string) (*cri.ContainerStatus, error) {
	res, err := read(ctx, r, "ContainerStatus", r.runtime.ContainerStatus, &cri.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		return nil, err
	}
	return res.GetStatus(), answers("container", id, res.GetStatus())
}

// answers fails for the status of another ID than the one that was asked for.
func answers(kind, id string, status interface{ GetId() string }) error {
	if got := status.GetId(); got != id {
		return fmt.Errorf("%w: asked for %s %s, it answers for %q", ErrMalformed, kind, id, got)
	}
	return nil
}

// RuntimeStatus implements runtime.StatusReporter.
func (r *Runtime) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	res, err := read(ctx, r, "Status", r.runtime.Status, &cri.StatusRequest{})
	if err != nil {
		return runtime.RuntimeStatus{}, err
	}
	return convert.RuntimeStatus(res.GetStatus()), nil
}

// Version implements runtime.Versioner.
func (r *Runtime) Version(ctx context.Context) (name, version string, err error) {
	res, err := read(ctx, r, "Version", r.runtime.Version, &cri.VersionRequest{})
	return res.GetRuntimeName(), res.GetRuntimeVersion(), err
}

// Features implements runtime.FeatureReporter. The adapter plays each role that CRI has a call for;
// what the runtime behind it lacks is ErrUnsupported from the call. CRI has no feature for image
// volumes, so the name and version of the runtime decide, as the newest connection has shown them.
// They are unknown until the runtime has answered the first call.
func (r *Runtime) Features() runtime.Features {
	f := runtime.Features{
		EventSource: r, StatusReporter: r, Versioner: r, Execer: r, ExecStreamer: r, Attacher: r, PortForwarder: r,
		LogReader: r, LogReopener: r, ImageFilesystem: r, UsedImageLister: r, StatsReader: r, Updater: r, PodCIDRUpdater: r,
		ImageMounts: runtime.ImageMountsUnknown, StrictGroups: runtime.SupportUnknown,
	}
	if g := r.greeted(); g.dials > 0 {
		f.ImageMounts, f.StrictGroups = convert.ImageMounts(g.name, g.version), runtime.SupportNone
		if g.strictGroups {
			f.StrictGroups = runtime.SupportFull
		}
	}
	return f
}

// UpdatePodCIDR implements runtime.PodCIDRUpdater. containerd writes the configuration of its
// network from a template, if it has one (conf_template), and does nothing otherwise.
func (r *Runtime) UpdatePodCIDR(ctx context.Context, cidr string) error {
	req := &cri.UpdateRuntimeConfigRequest{RuntimeConfig: &cri.RuntimeConfig{NetworkConfig: &cri.NetworkConfig{PodCidr: cidr}}}
	_, err := read(ctx, r, "UpdateRuntimeConfig", r.runtime.UpdateRuntimeConfig, req)
	return err
}
