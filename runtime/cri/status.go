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

// PodStatus implements runtime.PodLister. It omits a record that is removed between the list and
// the status call.
func (r *Runtime) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	l, err := r.listRecordsIfReady(ctx, uid)
	if err != nil {
		return nil, err
	}
	pods, skipped := convert.Pods(l.sandboxes, l.containers, r.cfg.Owner)
	r.logAndReportSkipped(ctx, skipped)
	i := slices.IndexFunc(pods, func(p runtime.Pod) bool { return p.UID == uid })
	if i < 0 {
		return &runtime.PodStatus{UID: uid}, nil
	}
	return r.fetchPodStatus(ctx, pods[i])
}

// fetchPodStatus fetches the status of every listed sandbox and container of a pod concurrently. It leaves out
// each one that was removed meanwhile, and returns an error if a call fails for another reason. If none is
// left, the status has only the UID.
func (r *Runtime) fetchPodStatus(ctx context.Context, listed runtime.Pod) (*runtime.PodStatus, error) {
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
	s, err := r.fetchSandboxStatus(ctx, listed.ID)
	if err != nil {
		return runtime.SandboxStatus{}, err
	}
	return convert.SandboxStatus(listed, s), nil
}

func (r *Runtime) containerStatus(ctx context.Context, listed runtime.Container) (runtime.ContainerStatus, error) {
	s, err := r.fetchContainerStatus(ctx, listed.ID)
	if err != nil {
		return runtime.ContainerStatus{}, err
	}
	return convert.ContainerStatus(listed, s), nil
}

// fetchSandboxStatus returns the CRI status of a sandbox. It returns ErrMalformed if the runtime answers with
// another ID.
func (r *Runtime) fetchSandboxStatus(ctx context.Context, id string) (*cri.PodSandboxStatus, error) {
	res, err := callRead(ctx, r, "PodSandboxStatus", r.runtime.PodSandboxStatus, &cri.PodSandboxStatusRequest{PodSandboxId: id})
	if err != nil {
		return nil, err
	}
	return res.GetStatus(), checkStatusID("sandbox", id, res.GetStatus())
}

// fetchContainerStatus returns the CRI status of a container. It returns ErrMalformed if the runtime answers
// with another ID.
func (r *Runtime) fetchContainerStatus(ctx context.Context, id string) (*cri.ContainerStatus, error) {
	res, err := callRead(ctx, r, "ContainerStatus", r.runtime.ContainerStatus, &cri.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		return nil, err
	}
	return res.GetStatus(), checkStatusID("container", id, res.GetStatus())
}

// checkStatusID returns ErrMalformed if a status has another ID than the requested one.
func checkStatusID(kind, id string, status interface{ GetId() string }) error {
	if got := status.GetId(); got != id {
		return fmt.Errorf("%w: the status of %s %s has the ID %q", ErrMalformed, kind, id, got)
	}
	return nil
}

// RuntimeStatus implements runtime.StatusReporter.
func (r *Runtime) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	res, err := callRead(ctx, r, "Status", r.runtime.Status, &cri.StatusRequest{})
	if err != nil {
		return runtime.RuntimeStatus{}, err
	}
	return convert.RuntimeStatus(res), nil
}

// Version implements runtime.Versioner.
func (r *Runtime) Version(ctx context.Context) (name, version string, err error) {
	res, err := callRead(ctx, r, "Version", r.runtime.Version, &cri.VersionRequest{})
	return res.GetRuntimeName(), res.GetRuntimeVersion(), err
}

// The cgroup drivers that CgroupDriver returns.
const (
	// CgroupDriverCgroupfs is the driver of a runtime that writes the files of cgroups itself.
	CgroupDriverCgroupfs = "cgroupfs"
	// CgroupDriverSystemd is the driver of a runtime that asks systemd for cgroups.
	CgroupDriverSystemd = "systemd"
)

// CgroupDriver returns the cgroup driver of the runtime, which decides about the form of
// RunSandboxRequest.CgroupDir: a path for cgroupfs, a slice for systemd. containerd before 2.0 does not
// return it; the error then wraps runtime.ErrUnsupported.
func (r *Runtime) CgroupDriver(ctx context.Context) (string, error) {
	res, err := callRead(ctx, r, "RuntimeConfig", r.runtime.RuntimeConfig, &cri.RuntimeConfigRequest{})
	if err != nil {
		return "", err
	}
	if res.GetLinux() == nil {
		return "", fmt.Errorf("%w: RuntimeConfig has no cgroup driver", runtime.ErrUnsupported)
	}
	if res.GetLinux().GetCgroupDriver() == cri.CgroupDriver_SYSTEMD {
		return CgroupDriverSystemd, nil
	}
	return CgroupDriverCgroupfs, nil
}

// Features implements runtime.FeatureReporter. It returns every role for which CRI has a call; if
// the runtime does not support the call, the call returns ErrUnsupported. CRI has no feature flag
// for image volumes, so their support follows from the name and version of the runtime on the
// newest connection. It is unknown before the first call.
func (r *Runtime) Features() runtime.Features {
	f := runtime.Features{
		EventSource: r, StatusReporter: r, Versioner: r, Execer: r, ExecStreamer: r, Attacher: r, PortForwarder: r,
		LogReader: r, LogReopener: r, ImageFilesystem: r, UsedImageLister: r, StatsReader: r, Updater: r, PodCIDRUpdater: r,
		ImageMounts: runtime.ImageMountsUnknown, StrictGroups: runtime.SupportUnknown,
	}
	if g := r.lastHandshake(); g.connection > 0 {
		f.ImageMounts, f.StrictGroups, f.RecursiveReadOnly = convert.ImageMounts(g.name, g.version), runtime.SupportNone, g.recursiveReadOnly
		if g.strictGroups {
			f.StrictGroups = runtime.SupportFull
		}
	}
	return f
}

// UpdatePodCIDR implements runtime.PodCIDRUpdater. containerd writes its CNI configuration from a
// template if it has one (conf_template), and ignores the call otherwise.
func (r *Runtime) UpdatePodCIDR(ctx context.Context, cidr string) error {
	req := &cri.UpdateRuntimeConfigRequest{RuntimeConfig: &cri.RuntimeConfig{NetworkConfig: &cri.NetworkConfig{PodCidr: cidr}}}
	_, err := callRead(ctx, r, "UpdateRuntimeConfig", r.runtime.UpdateRuntimeConfig, req)
	return err
}
