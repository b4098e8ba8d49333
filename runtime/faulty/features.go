package faulty

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Features implements runtime.FeatureReporter. No rule applies to it. The wrapper has the roles
// that the wrapped runtime has at that moment, except the streaming ones.
func (b *wrapper) Features() runtime.Features {
	f, r := runtime.FeaturesOf(b.inner), optionalRoles{b}
	f.ExecStreamer, f.Attacher, f.PortForwarder = nil, nil, nil
	wrapRole[runtime.EventSource](&f.EventSource, r)
	wrapRole[runtime.StatusReporter](&f.StatusReporter, r)
	wrapRole[runtime.Versioner](&f.Versioner, r)
	wrapRole[runtime.Execer](&f.Execer, r)
	wrapRole[runtime.HandlerRunner](&f.HandlerRunner, r)
	wrapRole[runtime.LogReader](&f.LogReader, r)
	wrapRole[runtime.LogReopener](&f.LogReopener, r)
	wrapRole[runtime.ImageFilesystem](&f.ImageFilesystem, r)
	wrapRole[runtime.UsedImageLister](&f.UsedImageLister, r)
	wrapRole[runtime.StatsReader](&f.StatsReader, r)
	wrapRole[runtime.Updater](&f.Updater, r)
	wrapRole[runtime.PodCIDRUpdater](&f.PodCIDRUpdater, r)
	return f
}

// wrapRole replaces an optional role (interface) of the runtime by wrapper, unless the runtime does not have
// the role.
func wrapRole[T comparable](role *T, wrapper T) {
	if none := *new(T); *role != none {
		*role = wrapper
	}
}

// optionalRoles has the methods of the optional roles. Each method calls the role of the wrapped
// runtime.
type optionalRoles struct{ b *wrapper }

func (r optionalRoles) innerFeatures() runtime.Features { return runtime.FeaturesOf(r.b.inner) }

// unsupportedError builds the error of a method whose optional role the wrapped runtime has lost since the
// wrapper was created.
func unsupportedError(verb string) error {
	return fmt.Errorf("faulty: %s: %w", verb, runtime.ErrUnsupported)
}

// RuntimeStatus implements runtime.StatusReporter.
func (r optionalRoles) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return callWithFaults(ctx, r.b, RuntimeStatus, callSubject{}, func() (runtime.RuntimeStatus, error) {
		if role := r.innerFeatures().StatusReporter; role != nil {
			return role.RuntimeStatus(ctx)
		}
		return runtime.RuntimeStatus{}, unsupportedError(RuntimeStatus)
	})
}

// Version implements runtime.Versioner.
func (r optionalRoles) Version(ctx context.Context) (name, version string, err error) {
	v, err := callWithFaults(ctx, r.b, Version, callSubject{}, func() (v [2]string, err error) {
		role := r.innerFeatures().Versioner
		if role == nil {
			return v, unsupportedError(Version)
		}
		v[0], v[1], err = role.Version(ctx)
		return v, err
	})
	return v[0], v[1], err
}

// ImageFilesystem implements runtime.ImageFilesystem.
func (r optionalRoles) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	return callWithFaults(ctx, r.b, ImageFilesystem, callSubject{}, func() (runtime.FilesystemUsage, error) {
		if role := r.innerFeatures().ImageFilesystem; role != nil {
			return role.ImageFilesystem(ctx)
		}
		return runtime.FilesystemUsage{}, unsupportedError(ImageFilesystem)
	})
}

// ListUsedImages implements runtime.UsedImageLister.
func (r optionalRoles) ListUsedImages(ctx context.Context) ([]string, error) {
	return callWithFaults(ctx, r.b, ListUsedImages, callSubject{}, func() ([]string, error) {
		if role := r.innerFeatures().UsedImageLister; role != nil {
			return role.ListUsedImages(ctx)
		}
		return nil, unsupportedError(ListUsedImages)
	})
}

// Events implements runtime.EventSource.
func (r optionalRoles) Events(ctx context.Context, sink func(runtime.Event)) error {
	return callErrorWithFaults(ctx, r.b, Events, callSubject{}, func() error {
		role := r.innerFeatures().EventSource
		if role == nil {
			return unsupportedError(Events)
		}
		return role.Events(ctx, func(event runtime.Event) {
			a := r.b.f.subjectOfEvent(event)
			if len(r.b.f.countAndListOmitRules(Events, func(r Rule) bool { return r.matchesSubject(a) })) == 0 {
				sink(event)
			}
		})
	})
}

// subjectOfEvent returns the pod and container of a runtime event. A pod or container name is empty if it is
// unknown.
func (f *Faults) subjectOfEvent(e runtime.Event) callSubject {
	f.mu.Lock()
	defer f.mu.Unlock()
	return callSubject{e.UID, f.mu.names[e.UID], f.mu.known[e.ContainerID].container}
}

// Exec implements runtime.Execer.
func (r optionalRoles) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return callWithFaults(ctx, r.b, Exec, r.b.findSubject(ctx, req.ContainerID), func() (runtime.ExecResult, error) {
		if role := r.innerFeatures().Execer; role != nil {
			return role.Exec(ctx, req)
		}
		return runtime.ExecResult{}, unsupportedError(Exec)
	})
}

// ReadLog implements runtime.LogReader.
func (r optionalRoles) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	return callErrorWithFaults(ctx, r.b, ReadLog, r.b.findSubject(ctx, req.ContainerID), func() error {
		if role := r.innerFeatures().LogReader; role != nil {
			return role.ReadLog(ctx, req, w)
		}
		return unsupportedError(ReadLog)
	})
}

// ReopenContainerLog implements runtime.LogReopener.
func (r optionalRoles) ReopenContainerLog(ctx context.Context, containerID string) error {
	return callErrorWithFaults(ctx, r.b, ReopenContainerLog, r.b.findSubject(ctx, containerID), func() error {
		if role := r.innerFeatures().LogReopener; role != nil {
			return role.ReopenContainerLog(ctx, containerID)
		}
		return unsupportedError(ReopenContainerLog)
	})
}

// PodStats implements runtime.StatsReader.
func (r optionalRoles) PodStats(ctx context.Context, uid types.UID) (runtime.PodStats, error) {
	return callWithFaults(ctx, r.b, PodStats, r.b.f.subjectOfPod(uid), func() (runtime.PodStats, error) {
		if role := r.innerFeatures().StatsReader; role != nil {
			return role.PodStats(ctx, uid)
		}
		return runtime.PodStats{}, unsupportedError(PodStats)
	})
}

// UpdateContainer implements runtime.Updater.
func (r optionalRoles) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	return callErrorWithFaults(ctx, r.b, UpdateContainer, r.b.findSubject(ctx, req.ContainerID), func() error {
		if role := r.innerFeatures().Updater; role != nil {
			return role.UpdateContainer(ctx, req)
		}
		return unsupportedError(UpdateContainer)
	})
}

// UpdatePodCIDR implements runtime.PodCIDRUpdater.
func (r optionalRoles) UpdatePodCIDR(ctx context.Context, cidr string) error {
	return callErrorWithFaults(ctx, r.b, UpdatePodCIDR, callSubject{}, func() error {
		if role := r.innerFeatures().PodCIDRUpdater; role != nil {
			return role.UpdatePodCIDR(ctx, cidr)
		}
		return unsupportedError(UpdatePodCIDR)
	})
}

// RunHandler implements runtime.HandlerRunner. A Lie runs the handler and returns the opposite
// result.
func (r optionalRoles) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	ask := func() (runtime.RunHandlerResult, error) {
		if role := r.innerFeatures().HandlerRunner; role != nil {
			return role.RunHandler(ctx, req)
		}
		return runtime.RunHandlerResult{}, unsupportedError(RunHandler)
	}
	return callWithFaultsOrWrongResult(ctx, r.b, RunHandler, r.b.findSubject(ctx, req.ContainerID), ask, func() (runtime.RunHandlerResult, error) {
		res, err := ask()
		res.OK = err == nil && !res.OK
		return res, err
	})
}
