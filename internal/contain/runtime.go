package contain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Runtime wraps a runtime so that its panics are contained. It has the methods of all roles. The caller may call only
// methods of the roles that the inner runtime implements, and the optional ones that Features returns.
type Runtime struct {
	inner any
	guard *Guard
	mu    struct {
		sync.Mutex
		last runtime.Features // the last result of the inner runtime
	}
}

// NewRuntime wraps a runtime, or some of its roles.
func NewRuntime(g *Guard, rt any) *Runtime {
	if guarded, ok := rt.(*Runtime); ok {
		return guarded
	}
	r := &Runtime{inner: rt, guard: g}
	r.mu.last = runtime.Features{ImageMounts: runtime.ImageMountsUnknown, StrictGroups: runtime.SupportUnknown}
	return r
}

var _ interface {
	runtime.Runtime
	runtime.FeatureReporter
} = (*Runtime)(nil)

// Features returns the features of the inner runtime, each wrapped.
func (r *Runtime) Features() runtime.Features {
	f := r.innerOrLastFeatures()
	replaceRoleIfPresent(&f.EventSource, r)
	replaceRoleIfPresent(&f.StatusReporter, r)
	replaceRoleIfPresent(&f.Versioner, r)
	replaceRoleIfPresent(&f.Execer, r)
	replaceRoleIfPresent(&f.HandlerRunner, r)
	replaceRoleIfPresent(&f.LogReader, r)
	replaceRoleIfPresent(&f.LogReopener, r)
	replaceRoleIfPresent(&f.ExecStreamer, r)
	replaceRoleIfPresent(&f.Attacher, r)
	replaceRoleIfPresent(&f.PortForwarder, r)
	replaceRoleIfPresent(&f.ImageFilesystem, r)
	replaceRoleIfPresent(&f.UsedImageLister, r)
	replaceRoleIfPresent(&f.StatsReader, r)
	replaceRoleIfPresent(&f.Updater, r)
	replaceRoleIfPresent(&f.PodCIDRUpdater, r)
	return f
}

// replaceRoleIfPresent replaces a role (an optional interface of a runtime) by replacement. A role that is nil
// stays nil.
func replaceRoleIfPresent[T comparable](role *T, replacement any) {
	if none := *new(T); *role != none {
		*role = replacement.(T)
	}
}

// innerOrLastFeatures returns and stores the features of the inner runtime. If the inner runtime panics, it
// returns the features stored last, with ImageMounts and StrictGroups unknown.
func (r *Runtime) innerOrLastFeatures() (f runtime.Features) {
	defer func() {
		v := recover()
		if v != nil {
			_ = r.guard.HandlePanic("Runtime.Features", v)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if v == nil {
			r.mu.last = f
			return
		}
		f = r.mu.last
		f.ImageMounts, f.StrictGroups = runtime.ImageMountsUnknown, runtime.SupportUnknown
	}()
	lister, _ := r.inner.(runtime.PodLister)
	return runtime.FeaturesOf(lister)
}

// unsupportedError returns an ErrUnsupported for a call that the inner runtime no longer has.
func unsupportedError(call string) error {
	return fmt.Errorf("%s: the runtime no longer supports it: %w", call, runtime.ErrUnsupported)
}

// ListPods calls the inner runtime.
func (r *Runtime) ListPods(ctx context.Context) (pods []runtime.Pod, err error) {
	defer r.guard.Recover("Runtime.ListPods", &err)
	return r.inner.(runtime.PodLister).ListPods(ctx)
}

// PodStatus calls the inner runtime.
func (r *Runtime) PodStatus(ctx context.Context, uid types.UID) (status *runtime.PodStatus, err error) {
	defer r.guard.Recover("Runtime.PodStatus", &err)
	return r.inner.(runtime.PodLister).PodStatus(ctx, uid)
}

// RunSandbox calls the inner runtime.
func (r *Runtime) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (id string, err error) {
	defer r.guard.Recover("Runtime.RunSandbox", &err)
	return r.inner.(runtime.Sandboxes).RunSandbox(ctx, req)
}

// StopSandbox calls the inner runtime.
func (r *Runtime) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) (err error) {
	defer r.guard.Recover("Runtime.StopSandbox", &err)
	return r.inner.(runtime.Sandboxes).StopSandbox(ctx, req)
}

// RemoveSandbox calls the inner runtime.
func (r *Runtime) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) (err error) {
	defer r.guard.Recover("Runtime.RemoveSandbox", &err)
	return r.inner.(runtime.Sandboxes).RemoveSandbox(ctx, req)
}

// CreateContainer calls the inner runtime.
func (r *Runtime) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (id string, err error) {
	defer r.guard.Recover("Runtime.CreateContainer", &err)
	return r.inner.(runtime.Containers).CreateContainer(ctx, req)
}

// StartContainer calls the inner runtime.
func (r *Runtime) StartContainer(ctx context.Context, req runtime.StartContainerRequest) (err error) {
	defer r.guard.Recover("Runtime.StartContainer", &err)
	return r.inner.(runtime.Containers).StartContainer(ctx, req)
}

// StopContainer calls the inner runtime.
func (r *Runtime) StopContainer(ctx context.Context, req runtime.StopContainerRequest) (err error) {
	defer r.guard.Recover("Runtime.StopContainer", &err)
	return r.inner.(runtime.Containers).StopContainer(ctx, req)
}

// RemoveContainer calls the inner runtime.
func (r *Runtime) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) (err error) {
	defer r.guard.Recover("Runtime.RemoveContainer", &err)
	return r.inner.(runtime.Containers).RemoveContainer(ctx, req)
}

// PullImage calls the inner runtime.
func (r *Runtime) PullImage(ctx context.Context, req runtime.PullImageRequest) (ref string, err error) {
	defer r.guard.Recover("Runtime.PullImage", &err)
	return r.inner.(runtime.Images).PullImage(ctx, req)
}

// ImageStatus calls the inner runtime.
func (r *Runtime) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (image runtime.Image, err error) {
	defer r.guard.Recover("Runtime.ImageStatus", &err)
	return r.inner.(runtime.Images).ImageStatus(ctx, req)
}

// ListImages calls the inner runtime.
func (r *Runtime) ListImages(ctx context.Context) (images []runtime.Image, err error) {
	defer r.guard.Recover("Runtime.ListImages", &err)
	return r.inner.(runtime.Images).ListImages(ctx)
}

// RemoveImage calls the inner runtime.
func (r *Runtime) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) (err error) {
	defer r.guard.Recover("Runtime.RemoveImage", &err)
	return r.inner.(runtime.Images).RemoveImage(ctx, req)
}

// Events calls the inner runtime.
func (r *Runtime) Events(ctx context.Context, sink func(runtime.Event)) (err error) {
	defer r.guard.Recover("Runtime.Events", &err)
	role := r.innerOrLastFeatures().EventSource
	if role == nil {
		return unsupportedError("Events")
	}
	return role.Events(ctx, sink)
}

// RuntimeStatus calls the inner runtime.
func (r *Runtime) RuntimeStatus(ctx context.Context) (status runtime.RuntimeStatus, err error) {
	defer r.guard.Recover("Runtime.RuntimeStatus", &err)
	role := r.innerOrLastFeatures().StatusReporter
	if role == nil {
		return status, unsupportedError("RuntimeStatus")
	}
	return role.RuntimeStatus(ctx)
}

// Exec calls the inner runtime.
func (r *Runtime) Exec(ctx context.Context, req runtime.ExecRequest) (result runtime.ExecResult, err error) {
	defer r.guard.Recover("Runtime.Exec", &err)
	role := r.innerOrLastFeatures().Execer
	if role == nil {
		return result, unsupportedError("Exec")
	}
	return role.Exec(ctx, req)
}

// ExecStream calls the inner runtime.
func (r *Runtime) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	defer r.guard.Recover("Runtime.ExecStream", &err)
	role := r.innerOrLastFeatures().ExecStreamer
	if role == nil {
		return exitCode, unsupportedError("ExecStream")
	}
	return role.ExecStream(ctx, req, streams)
}

// Attach calls the inner runtime.
func (r *Runtime) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) (err error) {
	defer r.guard.Recover("Runtime.Attach", &err)
	role := r.innerOrLastFeatures().Attacher
	if role == nil {
		return unsupportedError("Attach")
	}
	return role.Attach(ctx, req, streams)
}

// PortForward calls the inner runtime.
func (r *Runtime) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) (err error) {
	defer r.guard.Recover("Runtime.PortForward", &err)
	role := r.innerOrLastFeatures().PortForwarder
	if role == nil {
		return errors.Join(unsupportedError("PortForward"), conn.Close())
	}
	return role.PortForward(ctx, req, conn)
}

// RunHandler calls the inner runtime.
func (r *Runtime) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (result runtime.RunHandlerResult, err error) {
	defer r.guard.Recover("Runtime.RunHandler", &err)
	role := r.innerOrLastFeatures().HandlerRunner
	if role == nil {
		return result, unsupportedError("RunHandler")
	}
	return role.RunHandler(ctx, req)
}

// ReadLog calls the inner runtime.
func (r *Runtime) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) (err error) {
	defer r.guard.Recover("Runtime.ReadLog", &err)
	role := r.innerOrLastFeatures().LogReader
	if role == nil {
		return unsupportedError("ReadLog")
	}
	return role.ReadLog(ctx, req, w)
}

// ReopenContainerLog calls the inner runtime.
func (r *Runtime) ReopenContainerLog(ctx context.Context, containerID string) (err error) {
	defer r.guard.Recover("Runtime.ReopenContainerLog", &err)
	role := r.innerOrLastFeatures().LogReopener
	if role == nil {
		return unsupportedError("ReopenContainerLog")
	}
	return role.ReopenContainerLog(ctx, containerID)
}

// ListUsedImages calls the inner runtime.
func (r *Runtime) ListUsedImages(ctx context.Context) (images []string, err error) {
	defer r.guard.Recover("Runtime.ListUsedImages", &err)
	role := r.innerOrLastFeatures().UsedImageLister
	if role == nil {
		return images, unsupportedError("ListUsedImages")
	}
	return role.ListUsedImages(ctx)
}

// ImageFilesystem calls the inner runtime.
func (r *Runtime) ImageFilesystem(ctx context.Context) (usage runtime.FilesystemUsage, err error) {
	defer r.guard.Recover("Runtime.ImageFilesystem", &err)
	role := r.innerOrLastFeatures().ImageFilesystem
	if role == nil {
		return usage, unsupportedError("ImageFilesystem")
	}
	return role.ImageFilesystem(ctx)
}

// PodStats calls the inner runtime.
func (r *Runtime) PodStats(ctx context.Context, uid types.UID) (stats runtime.PodStats, err error) {
	defer r.guard.Recover("Runtime.PodStats", &err)
	role := r.innerOrLastFeatures().StatsReader
	if role == nil {
		return stats, unsupportedError("PodStats")
	}
	return role.PodStats(ctx, uid)
}

// UpdateContainer calls the inner runtime.
func (r *Runtime) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) (err error) {
	defer r.guard.Recover("Runtime.UpdateContainer", &err)
	role := r.innerOrLastFeatures().Updater
	if role == nil {
		return unsupportedError("UpdateContainer")
	}
	return role.UpdateContainer(ctx, req)
}

// Version calls the inner runtime.
func (r *Runtime) Version(ctx context.Context) (name, version string, err error) {
	defer r.guard.Recover("Runtime.Version", &err)
	role := r.innerOrLastFeatures().Versioner
	if role == nil {
		return name, version, unsupportedError("Version")
	}
	return role.Version(ctx)
}

// UpdatePodCIDR calls the inner runtime.
func (r *Runtime) UpdatePodCIDR(ctx context.Context, cidr string) (err error) {
	defer r.guard.Recover("Runtime.UpdatePodCIDR", &err)
	role := r.innerOrLastFeatures().PodCIDRUpdater
	if role == nil {
		return unsupportedError("UpdatePodCIDR")
	}
	return role.UpdatePodCIDR(ctx, cidr)
}
