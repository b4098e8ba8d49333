package contain

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Runtime is a runtime contained, as far as the inner one is a runtime: it has
// the methods of all roles and features, and only those may be called that the
// inner one has. So it is not asked by a type assertion what it can do; Feature
// does that.
type Runtime struct {
	inner any
	guard *Guard
}

// NewRuntime contains a runtime, or a part of one.
func NewRuntime(g *Guard, rt any) *Runtime {
	if done, ok := rt.(*Runtime); ok {
		return done
	}
	return &Runtime{rt, g}
}

// Feature is a role or an optional feature of a runtime, contained; the zero T if it
// has it not.
func Feature[T any](g *Guard, rt any) (feature T) {
	inner := rt
	if r, ok := rt.(*Runtime); ok {
		inner = r.inner
	}
	if _, ok := inner.(T); ok {
		feature, _ = any(NewRuntime(g, rt)).(T)
	}
	return feature
}

// The parts of roles that some need without the rest.
type (
	sandboxRemover interface {
		RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error
	}
	containerRemover interface {
		RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error
	}
	imageLister interface {
		ListImages(ctx context.Context) ([]runtime.Image, error)
	}
	podInspector interface {
		PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error)
	}
)

var _ interface {
	runtime.Runtime
	runtime.EventSource
	runtime.StatusReporter
	runtime.Execer
	runtime.ExecStreamer
	runtime.Attacher
	runtime.PortForwarder
	runtime.HandlerRunner
	runtime.LogReader
	runtime.LogReopener
	runtime.ImageFilesystem
	runtime.UsedImageLister
	runtime.StatsReader
	runtime.Updater
	runtime.Versioner
	runtime.PodCIDRUpdater
	runtime.FeatureReporter
} = (*Runtime)(nil)

// ListPods is the inner runtime's.
func (r *Runtime) ListPods(ctx context.Context) (pods []runtime.Pod, err error) {
	defer r.guard.Recover("Runtime.ListPods", &err)
	return r.inner.(runtime.PodLister).ListPods(ctx)
}

// PodStatus is the inner runtime's.
func (r *Runtime) PodStatus(ctx context.Context, uid types.UID) (status *runtime.PodStatus, err error) {
	defer r.guard.Recover("Runtime.PodStatus", &err)
	return r.inner.(podInspector).PodStatus(ctx, uid)
}

// RunSandbox is the inner runtime's.
func (r *Runtime) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (id string, err error) {
	defer r.guard.Recover("Runtime.RunSandbox", &err)
	return r.inner.(runtime.Sandboxes).RunSandbox(ctx, req)
}

// StopSandbox is the inner runtime's.
func (r *Runtime) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) (err error) {
	defer r.guard.Recover("Runtime.StopSandbox", &err)
	return r.inner.(runtime.Sandboxes).StopSandbox(ctx, req)
}

// RemoveSandbox is the inner runtime's.
func (r *Runtime) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) (err error) {
	defer r.guard.Recover("Runtime.RemoveSandbox", &err)
	return r.inner.(sandboxRemover).RemoveSandbox(ctx, req)
}

// CreateContainer is the inner runtime's.
func (r *Runtime) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (id string, err error) {
	defer r.guard.Recover("Runtime.CreateContainer", &err)
	return r.inner.(runtime.Containers).CreateContainer(ctx, req)
}

// StartContainer is the inner runtime's.
func (r *Runtime) StartContainer(ctx context.Context, req runtime.StartContainerRequest) (err error) {
	defer r.guard.Recover("Runtime.StartContainer", &err)
	return r.inner.(runtime.Containers).StartContainer(ctx, req)
}

// StopContainer is the inner runtime's.
func (r *Runtime) StopContainer(ctx context.Context, req runtime.StopContainerRequest) (err error) {
	defer r.guard.Recover("Runtime.StopContainer", &err)
	return r.inner.(runtime.Containers).StopContainer(ctx, req)
}

// RemoveContainer is the inner runtime's.
func (r *Runtime) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) (err error) {
	defer r.guard.Recover("Runtime.RemoveContainer", &err)
	return r.inner.(containerRemover).RemoveContainer(ctx, req)
}

// PullImage is the inner runtime's.
func (r *Runtime) PullImage(ctx context.Context, req runtime.PullImageRequest) (ref string, err error) {
	defer r.guard.Recover("Runtime.PullImage", &err)
	return r.inner.(runtime.Images).PullImage(ctx, req)
}

// ImageStatus is the inner runtime's.
func (r *Runtime) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (image runtime.Image, err error) {
	defer r.guard.Recover("Runtime.ImageStatus", &err)
	return r.inner.(runtime.Images).ImageStatus(ctx, req)
}

// ListImages is the inner runtime's.
func (r *Runtime) ListImages(ctx context.Context) (images []runtime.Image, err error) {
	defer r.guard.Recover("Runtime.ListImages", &err)
	return r.inner.(imageLister).ListImages(ctx)
}

// RemoveImage is the inner runtime's.
func (r *Runtime) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) (err error) {
	defer r.guard.Recover("Runtime.RemoveImage", &err)
	return r.inner.(runtime.Images).RemoveImage(ctx, req)
}

// Events is the inner runtime's.
func (r *Runtime) Events(ctx context.Context, sink func(runtime.Event)) (err error) {
	defer r.guard.Recover("Runtime.Events", &err)
	return r.inner.(runtime.EventSource).Events(ctx, sink)
}

// RuntimeStatus is the inner runtime's.
func (r *Runtime) RuntimeStatus(ctx context.Context) (status runtime.RuntimeStatus, err error) {
	defer r.guard.Recover("Runtime.RuntimeStatus", &err)
	return r.inner.(runtime.StatusReporter).RuntimeStatus(ctx)
}

// Exec is the inner runtime's.
func (r *Runtime) Exec(ctx context.Context, req runtime.ExecRequest) (result runtime.ExecResult, err error) {
	defer r.guard.Recover("Runtime.Exec", &err)
	return r.inner.(runtime.Execer).Exec(ctx, req)
}

// ExecStream is the inner runtime's.
func (r *Runtime) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	defer r.guard.Recover("Runtime.ExecStream", &err)
	return r.inner.(runtime.ExecStreamer).ExecStream(ctx, req, streams)
}

// Attach is the inner runtime's.
func (r *Runtime) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) (err error) {
	defer r.guard.Recover("Runtime.Attach", &err)
	return r.inner.(runtime.Attacher).Attach(ctx, req, streams)
}

// PortForward is the inner runtime's.
func (r *Runtime) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) (err error) {
	defer r.guard.Recover("Runtime.PortForward", &err)
	return r.inner.(runtime.PortForwarder).PortForward(ctx, req, conn)
}

// RunHandler is the inner runtime's.
func (r *Runtime) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (result runtime.RunHandlerResult, err error) {
	defer r.guard.Recover("Runtime.RunHandler", &err)
	return r.inner.(runtime.HandlerRunner).RunHandler(ctx, req)
}

// ReadLog is the inner runtime's.
func (r *Runtime) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) (err error) {
	defer r.guard.Recover("Runtime.ReadLog", &err)
	return r.inner.(runtime.LogReader).ReadLog(ctx, req, w)
}

// ReopenContainerLog is the inner runtime's.
func (r *Runtime) ReopenContainerLog(ctx context.Context, containerID string) (err error) {
	defer r.guard.Recover("Runtime.ReopenContainerLog", &err)
	return r.inner.(runtime.LogReopener).ReopenContainerLog(ctx, containerID)
}

// ListUsedImages is the inner runtime's.
func (r *Runtime) ListUsedImages(ctx context.Context) (images []string, err error) {
	defer r.guard.Recover("Runtime.ListUsedImages", &err)
	return r.inner.(runtime.UsedImageLister).ListUsedImages(ctx)
}

// ImageFilesystem is the inner runtime's.
func (r *Runtime) ImageFilesystem(ctx context.Context) (usage runtime.FilesystemUsage, err error) {
	defer r.guard.Recover("Runtime.ImageFilesystem", &err)
	return r.inner.(runtime.ImageFilesystem).ImageFilesystem(ctx)
}

// PodStats is the inner runtime's.
func (r *Runtime) PodStats(ctx context.Context, uid types.UID) (stats runtime.PodStats, err error) {
	defer r.guard.Recover("Runtime.PodStats", &err)
	return r.inner.(runtime.StatsReader).PodStats(ctx, uid)
}

// UpdateContainer is the inner runtime's.
func (r *Runtime) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) (err error) {
	defer r.guard.Recover("Runtime.UpdateContainer", &err)
	return r.inner.(runtime.Updater).UpdateContainer(ctx, req)
}

// Version is the inner runtime's.
func (r *Runtime) Version(ctx context.Context) (name, version string, err error) {
	defer r.guard.Recover("Runtime.Version", &err)
	return r.inner.(runtime.Versioner).Version(ctx)
}

// UpdatePodCIDR is the inner runtime's.
func (r *Runtime) UpdatePodCIDR(ctx context.Context, cidr string) (err error) {
	defer r.guard.Recover("Runtime.UpdatePodCIDR", &err)
	return r.inner.(runtime.PodCIDRUpdater).UpdatePodCIDR(ctx, cidr)
}

// Features is the inner runtime's. Of one that panics nothing is known.
func (r *Runtime) Features() runtime.Features {
	unknown := runtime.Features{ImageMounts: runtime.ImageMountsUnknown, StrictGroups: runtime.SupportUnknown}
	return Or(r.guard, "Runtime.Features", unknown, r.inner.(runtime.FeatureReporter).Features)
}
