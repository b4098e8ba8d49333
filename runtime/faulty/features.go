package faulty

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// lacks is the error of a verb that what is wrapped does not have.
func lacks(verb string) error { return fmt.Errorf("faulty: %s: %w", verb, runtime.ErrUnsupported) }

// RuntimeStatus implements runtime.StatusReporter.
func (b *base) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return call(ctx, b, RuntimeStatus, about{}, func() (runtime.RuntimeStatus, error) {
		if reporter, ok := b.inner.(runtime.StatusReporter); ok {
			return reporter.RuntimeStatus(ctx)
		}
		return runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}, nil
	})
}

// Version implements runtime.Versioner.
func (b *base) Version(ctx context.Context) (name, version string, err error) {
	v, err := call(ctx, b, Version, about{}, func() (v [2]string, err error) {
		versioner, ok := b.inner.(runtime.Versioner)
		if !ok {
			return v, lacks(Version)
		}
		v[0], v[1], err = versioner.Version(ctx)
		return v, err
	})
	return v[0], v[1], err
}

// ImageFilesystem implements runtime.ImageFilesystem. Of a runtime that is none
// nothing is known.
func (b *base) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	return call(ctx, b, ImageFilesystem, about{}, func() (runtime.FilesystemUsage, error) {
		if disk, ok := b.inner.(runtime.ImageFilesystem); ok {
			return disk.ImageFilesystem(ctx)
		}
		return runtime.FilesystemUsage{}, nil
	})
}

// ListUsedImages implements runtime.UsedImageLister.
func (b *base) ListUsedImages(ctx context.Context) ([]string, error) {
	return call(ctx, b, ListUsedImages, about{}, func() ([]string, error) {
		if lister, ok := b.inner.(runtime.UsedImageLister); ok {
			return lister.ListUsedImages(ctx)
		}
		return nil, lacks(ListUsedImages)
	})
}

// Events implements runtime.EventSource.
func (b *base) Events(ctx context.Context, sink func(runtime.Event)) error {
	return act(ctx, b, Events, about{}, func() error {
		source, ok := b.inner.(runtime.EventSource)
		if !ok {
			return lacks(Events)
		}
		return source.Events(ctx, func(event runtime.Event) {
			a := b.f.ofEvent(event)
			if len(b.f.omits(Events, func(r Rule) bool { return r.matches(a) })) == 0 {
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
func (x execs) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return call(ctx, x.b, Exec, x.b.byID(ctx, req.ContainerID), func() (runtime.ExecResult, error) {
		return x.b.inner.(runtime.Execer).Exec(ctx, req)
	})
}

// ReadLog implements runtime.LogReader.
func (l logs) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	return act(ctx, l.b, ReadLog, l.b.byID(ctx, req.ContainerID), func() error {
		return l.b.inner.(runtime.LogReader).ReadLog(ctx, req, w)
	})
}

// ReopenContainerLog implements runtime.LogReopener.
func (b *base) ReopenContainerLog(ctx context.Context, containerID string) error {
	return act(ctx, b, ReopenContainerLog, b.byID(ctx, containerID), func() error {
		if reopener, ok := b.inner.(runtime.LogReopener); ok {
			return reopener.ReopenContainerLog(ctx, containerID)
		}
		return lacks(ReopenContainerLog)
	})
}

// PodStats implements runtime.StatsReader.
func (b *base) PodStats(ctx context.Context, uid types.UID) (runtime.PodStats, error) {
	return call(ctx, b, PodStats, b.f.ofPod(uid), func() (runtime.PodStats, error) {
		if reader, ok := b.inner.(runtime.StatsReader); ok {
			return reader.PodStats(ctx, uid)
		}
		return runtime.PodStats{}, lacks(PodStats)
	})
}

// UpdateContainer implements runtime.Updater.
func (b *base) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	return act(ctx, b, UpdateContainer, b.byID(ctx, req.ContainerID), func() error {
		if updater, ok := b.inner.(runtime.Updater); ok {
			return updater.UpdateContainer(ctx, req)
		}
		return lacks(UpdateContainer)
	})
}

// UpdatePodCIDR implements runtime.PodCIDRUpdater.
func (b *base) UpdatePodCIDR(ctx context.Context, cidr string) error {
	return act(ctx, b, UpdatePodCIDR, about{}, func() error {
		if updater, ok := b.inner.(runtime.PodCIDRUpdater); ok {
			return updater.UpdatePodCIDR(ctx, cidr)
		}
		return lacks(UpdatePodCIDR)
	})
}

// Features implements runtime.FeatureReporter. It is no verb: it asks nothing of the runtime.
func (b *base) Features() runtime.Features {
	if reporter, ok := b.inner.(runtime.FeatureReporter); ok {
		return reporter.Features()
	}
	return runtime.Features{}
}

// RunHandler implements runtime.HandlerRunner. A lie asks too, and says the opposite.
func (a answers) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	ask := func() (runtime.RunHandlerResult, error) {
		return a.b.inner.(runtime.HandlerRunner).RunHandler(ctx, req)
	}
	return callOrLie(ctx, a.b, RunHandler, a.b.byID(ctx, req.ContainerID), ask, func() (runtime.RunHandlerResult, error) {
		res, err := ask()
		res.OK = err == nil && !res.OK
		return res, err
	})
}
