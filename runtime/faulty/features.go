package faulty

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Features implements runtime.FeatureReporter. It is no verb: no rule applies to it. The wrapper
// has the roles that the wrapped runtime has at that moment, and no streams.
func (b *base) Features() runtime.Features {
	f, r := runtime.FeaturesOf(b.inner), roles{b}
	f.ExecStreamer, f.Attacher, f.PortForwarder = nil, nil, nil
	inject[runtime.EventSource](&f.EventSource, r)
	inject[runtime.StatusReporter](&f.StatusReporter, r)
	inject[runtime.Versioner](&f.Versioner, r)
	inject[runtime.Execer](&f.Execer, r)
	inject[runtime.HandlerRunner](&f.HandlerRunner, r)
	inject[runtime.LogReader](&f.LogReader, r)
	inject[runtime.LogReopener](&f.LogReopener, r)
	inject[runtime.ImageFilesystem](&f.ImageFilesystem, r)
	inject[runtime.UsedImageLister](&f.UsedImageLister, r)
	inject[runtime.StatsReader](&f.StatsReader, r)
	inject[runtime.Updater](&f.Updater, r)
	inject[runtime.PodCIDRUpdater](&f.PodCIDRUpdater, r)
	return f
}

// inject puts the wrapper in the place of a role, if the wrapped runtime has the role.
func inject[T comparable](role *T, wrapper T) {
	if none := *new(T); *role != none {
		*role = wrapper
	}
}

// roles has the verbs of the optional roles. Those that the wrapped runtime has are found with
// Features.
type roles struct{ b *base }

func (r roles) inner() runtime.Features { return runtime.FeaturesOf(r.b.inner) }

// unsupported returns the error of a verb whose role the wrapped runtime has lost.
func unsupported(verb string) error {
	return fmt.Errorf("faulty: %s: %w", verb, runtime.ErrUnsupported)
}

// RuntimeStatus implements runtime.StatusReporter.
func (r roles) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return call(ctx, r.b, RuntimeStatus, about{}, func() (runtime.RuntimeStatus, error) {
		if role := r.inner().StatusReporter; role != nil {
			return role.RuntimeStatus(ctx)
		}
		return runtime.RuntimeStatus{}, unsupported(RuntimeStatus)
	})
}

// Version implements runtime.Versioner.
func (r roles) Version(ctx context.Context) (name, version string, err error) {
	v, err := call(ctx, r.b, Version, about{}, func() (v [2]string, err error) {
		role := r.inner().Versioner
		if role == nil {
			return v, unsupported(Version)
		}
		v[0], v[1], err = role.Version(ctx)
		return v, err
	})
	return v[0], v[1], err
}

// ImageFilesystem implements runtime.ImageFilesystem.
func (r roles) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	return call(ctx, r.b, ImageFilesystem, about{}, func() (runtime.FilesystemUsage, error) {
		if role := r.inner().ImageFilesystem; role != nil {
			return role.ImageFilesystem(ctx)
		}
		return runtime.FilesystemUsage{}, unsupported(ImageFilesystem)
	})
}

// ListUsedImages implements runtime.UsedImageLister.
func (r roles) ListUsedImages(ctx context.Context) ([]string, error) {
	return call(ctx, r.b, ListUsedImages, about{}, func() ([]string, error) {
		if role := r.inner().UsedImageLister; role != nil {
			return role.ListUsedImages(ctx)
		}
		return nil, unsupported(ListUsedImages)
	})
}

// Events implements runtime.EventSource.
func (r roles) Events(ctx context.Context, sink func(runtime.Event)) error {
	return act(ctx, r.b, Events, about{}, func() error {
		role := r.inner().EventSource
		if role == nil {
			return unsupported(Events)
		}
		return role.Events(ctx, func(event runtime.Event) {
			a := r.b.f.ofEvent(event)
			if len(r.b.f.omits(Events, func(r Rule) bool { return r.matches(a) })) == 0 {
				sink(event)
			}
		})
	})
}

// ofEvent is whom an event is about.
func (f *Faults) ofEvent(e runtime.Event) about {
	f.mu.Lock()
	defer f.mu.Unlock()
	return about{e.UID, f.mu.names[e.UID], f.mu.known[e.ContainerID].container}
}

// Exec implements runtime.Execer.
func (r roles) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return call(ctx, r.b, Exec, r.b.byID(ctx, req.ContainerID), func() (runtime.ExecResult, error) {
		if role := r.inner().Execer; role != nil {
			return role.Exec(ctx, req)
		}
		return runtime.ExecResult{}, unsupported(Exec)
	})
}

// ReadLog implements runtime.LogReader.
func (r roles) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	return act(ctx, r.b, ReadLog, r.b.byID(ctx, req.ContainerID), func() error {
		if role := r.inner().LogReader; role != nil {
			return role.ReadLog(ctx, req, w)
		}
		return unsupported(ReadLog)
	})
}

// ReopenContainerLog implements runtime.LogReopener.
func (r roles) ReopenContainerLog(ctx context.Context, containerID string) error {
	return act(ctx, r.b, ReopenContainerLog, r.b.byID(ctx, containerID), func() error {
		if role := r.inner().LogReopener; role != nil {
			return role.ReopenContainerLog(ctx, containerID)
		}
		return unsupported(ReopenContainerLog)
	})
}

// PodStats implements runtime.StatsReader.
func (r roles) PodStats(ctx context.Context, uid types.UID) (runtime.PodStats, error) {
	return call(ctx, r.b, PodStats, r.b.f.ofPod(uid), func() (runtime.PodStats, error) {
		if role := r.inner().StatsReader; role != nil {
			return role.PodStats(ctx, uid)
		}
		return runtime.PodStats{}, unsupported(PodStats)
	})
}

// UpdateContainer implements runtime.Updater.
func (r roles) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	return act(ctx, r.b, UpdateContainer, r.b.byID(ctx, req.ContainerID), func() error {
		if role := r.inner().Updater; role != nil {
			return role.UpdateContainer(ctx, req)
		}
		return unsupported(UpdateContainer)
	})
}

// UpdatePodCIDR implements runtime.PodCIDRUpdater.
func (r roles) UpdatePodCIDR(ctx context.Context, cidr string) error {
	return act(ctx, r.b, UpdatePodCIDR, about{}, func() error {
		if role := r.inner().PodCIDRUpdater; role != nil {
			return role.UpdatePodCIDR(ctx, cidr)
		}
		return unsupported(UpdatePodCIDR)
	})
}

// RunHandler implements runtime.HandlerRunner. A lie asks too, and says the opposite.
func (r roles) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	ask := func() (runtime.RunHandlerResult, error) {
		if role := r.inner().HandlerRunner; role != nil {
			return role.RunHandler(ctx, req)
		}
		return runtime.RunHandlerResult{}, unsupported(RunHandler)
	}
	return callOrLie(ctx, r.b, RunHandler, r.b.byID(ctx, req.ContainerID), ask, func() (runtime.RunHandlerResult, error) {
		res, err := ask()
		res.OK = err == nil && !res.OK
		return res, err
	})
}
