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
	f := r.innerFeatures()
	containRole(&f.EventSource, r)
	containRole(&f.StatusReporter, r)
	containRole(&f.Versioner, r)
	containRole(&f.Execer, r)
	containRole(&f.HandlerRunner, r)
	containRole(&f.LogReader, r)
	containRole(&f.LogReopener, r)
	containRole(&f.ExecStreamer, r)
	containRole(&f.Attacher, r)
	containRole(&f.PortForwarder, r)
	containRole(&f.ImageFilesystem, r)
	containRole(&f.UsedImageLister, r)
	containRole(&f.StatsReader, r)
	containRole(&f.Updater, r)
	containRole(&f.PodCIDRUpdater, r)
	return f
}

// containRole replaces a role of the inner runtime by r. A missing role stays missing.
func containRole[T comparable](role *T, r any) {
	if none := *new(T); *role != none {
		*role = r.(T)
	}
}

// innerFeatures returns the features of the inner runtime. If the inner runtime panics, the roles of its last result
// count, and the rest is unknown.
func (r *Runtime) innerFeatures() (f runtime.Features) {
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

// unsupported returns the error for a role that the inner runtime no longer has.
func unsupported(call string) error {
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
	role := r.innerFeatures().EventSource
	if role == nil {
		return unsupported("Events")
	}
	return role.Events(ctx, sink)
}

// RuntimeStatus calls the inner runtime.
func (r *Runtime) RuntimeStatus(ctx context.Context) (status runtime.RuntimeStatus, err error) {
	defer r.guard.Recover("Runtime.RuntimeStatus", &err)
	role := r.innerFeatures().StatusReporter
	if role == nil {
		return status, unsupported("RuntimeStatus")
	}
	return role.RuntimeStatus(ctx)
}

// Exec calls the inner runtime.
func (r *Runtime) Exec(ctx context.Context, req runtime.ExecRequest) (result runtime.ExecResult, err error) {
	defer r.guard.Recover("Runtime.Exec", &err)
	role := r.innerFeatures().Execer
	if role == nil {
		return result, unsupported("Exec")
	}
	return role.Exec(ctx, req)
}

// ExecStream calls the inner runtime.
func (r *Runtime) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	defer r.guard.Recover("Runtime.ExecStream", &err)
	role := r.innerFeatures().ExecStreamer
	if role == nil {
		return exitCode, unsupported("ExecStream")
	}
	return role.ExecStream(ctx, req, streams)
}

// Attach calls the inner runtime.
func (r *Runtime) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) (err error) {
	defer r.guard.Recover("Runtime.Attach", &err)
	role := r.innerFeatures().Attacher
	if role == nil {
		return unsupported("Attach")
	}
	return role.Attach(ctx, req, streams)
}

// PortForward calls the inner runtime.
func (r *Runtime) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) (err error) {
	defer r.guard.Recover("Runtime.PortForward", &err)
	role := r.innerFeatures().PortForwarder
	if role == nil {
		return errors.Join(unsupported("PortForward"), conn.Close())
	}
	return role.PortForward(ctx, req, conn)
}

// RunHandler calls the inner runtime.
func (r *Runtime) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (result runtime.RunHandlerResult, err error) {
	defer r.guard.Recover("Runtime.RunHandler", &err)
	role := r.innerFeatures().HandlerRunner
	if role == nil {
		return result, unsupported("RunHandler")
	}
	return role.RunHandler(ctx, req)
}

// ReadLog calls the inner runtime.
func (r *Runtime) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) (err error) {
	defer r.guard.Recover("Runtime.ReadLog", &err)
	role := r.innerFeatures().LogReader
	if role == nil {
		return unsupported("ReadLog")
	}
	return role.ReadLog(ctx, req, w)
}

// ReopenContainerLog calls the inner runtime.
func (r *Runtime) ReopenContainerLog(ctx context.Context, containerID string) (err error) {
	defer r.guard.Recover("Runtime.ReopenContainerLog", &err)
	role := r.innerFeatures().LogReopener
	if role == nil {
		return unsupported("ReopenContainerLog")
	}
	return role.ReopenContainerLog(ctx, containerID)
}

// ListUsedImages calls the inner runtime.
func (r *Runtime) ListUsedImages(ctx context.Context) (images []string, err error) {
	defer r.guard.Recover("Runtime.ListUsedImages", &err)
	role := r.innerFeatures().UsedImageLister
	if role == nil {
		return images, unsupported("ListUsedImages")
	}
	return role.ListUsedImages(ctx)
}

// ImageFilesystem calls the inner runtime.
func (r *Runtime) ImageFilesystem(ctx context.Context) (usage runtime.FilesystemUsage, err error) {
	defer r.guard.Recover("Runtime.ImageFilesystem", &err)
	role := r.innerFeatures().ImageFilesystem
	if role == nil {
		return usage, unsupported("ImageFilesystem")
	}
	return role.ImageFilesystem(ctx)
}

// PodStats calls the inner runtime.
func (r *Runtime) PodStats(ctx context.Context, uid types.UID) (stats runtime.PodStats, err error) {
	defer r.guard.Recover("Runtime.PodStats", &err)
	role := r.innerFeatures().StatsReader
	if role == nil {
		return stats, unsupported("PodStats")
	}
	return role.PodStats(ctx, uid)
}

// UpdateContainer calls the inner runtime.
func (r *Runtime) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) (err error) {
	defer r.guard.Recover("Runtime.UpdateContainer", &err)
	role := r.innerFeatures().Updater
	if role == nil {
		return unsupported("UpdateContainer")
	}
	return role.UpdateContainer(ctx, req)
}

// Version calls the inner runtime.
func (r *Runtime) Version(ctx context.Context) (name, version string, err error) {
	defer r.guard.Recover("Runtime.Version", &err)
	role := r.innerFeatures().Versioner
	if role == nil {
		return name, version, unsupported("Version")
	}
	return role.Version(ctx)
}

// UpdatePodCIDR calls the inner runtime.
func (r *Runtime) UpdatePodCIDR(ctx context.Context, cidr string) (err error) {
	defer r.guard.Recover("Runtime.UpdatePodCIDR", &err)
	role := r.innerFeatures().PodCIDRUpdater
	if role == nil {
		return unsupported("UpdatePodCIDR")
	}
	return role.UpdatePodCIDR(ctx, cidr)
}
