package runtimetest_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	rt "github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// tampered is a runtime whose verbs can be replaced one by one.
type tampered struct {
	m *memory.Runtime

	listPods        func(context.Context) ([]rt.Pod, error)
	podStatus       func(context.Context, types.UID) (*rt.PodStatus, error)
	runSandbox      func(context.Context, rt.RunSandboxRequest) (string, error)
	stopSandbox     func(context.Context, rt.StopSandboxRequest) error
	removeSandbox   func(context.Context, rt.RemoveSandboxRequest) error
	createContainer func(context.Context, rt.CreateContainerRequest) (string, error)
	startContainer  func(context.Context, rt.StartContainerRequest) error
	stopContainer   func(context.Context, rt.StopContainerRequest) error
	removeContainer func(context.Context, rt.RemoveContainerRequest) error
	pullImage       func(context.Context, rt.PullImageRequest) (string, error)
	imageStatus     func(context.Context, rt.ImageStatusRequest) (rt.Image, error)
	listImages      func(context.Context) ([]rt.Image, error)
	removeImage     func(context.Context, rt.RemoveImageRequest) error
	events          func(context.Context, func(rt.Event)) error
	runtimeStatus   func(context.Context) (rt.RuntimeStatus, error)
	version         func(context.Context) (string, string, error)
	exec            func(context.Context, rt.ExecRequest) (rt.ExecResult, error)
	execStream      func(context.Context, rt.ExecStreamRequest, rt.Streams) (int32, error)
	readLog         func(context.Context, rt.ReadLogRequest, io.Writer) error
	podStats        func(context.Context, types.UID) (rt.PodStats, error)
	reopenLog       func(context.Context, string) error
	updateContainer func(context.Context, rt.UpdateContainerRequest) error
	answer          func(context.Context, rt.RunHandlerRequest) (rt.RunHandlerResult, error)
	imageFilesystem func(context.Context) (rt.FilesystemUsage, error)
	listUsedImages  func(context.Context) ([]string, error)
	features        func() rt.Features

	// reopened is called when the agent has ended, before there is another.
	reopened func()

	mu sync.Mutex // for the tamperers' own notes
}

func newTampered(m *memory.Runtime) *tampered {
	r := &tampered{
		m:        m,
		reopened: func() {},
		listPods: m.ListPods, podStatus: m.PodStatus,
		runSandbox: m.RunSandbox, stopSandbox: m.StopSandbox, removeSandbox: m.RemoveSandbox,
		createContainer: m.CreateContainer, startContainer: m.StartContainer,
		stopContainer: m.StopContainer, removeContainer: m.RemoveContainer,
		pullImage: m.PullImage, imageStatus: m.ImageStatus, listImages: m.ListImages, removeImage: m.RemoveImage,
		events: m.Events, runtimeStatus: m.RuntimeStatus, version: m.Version,
		exec: m.Exec, execStream: m.ExecStream, readLog: m.ReadLog, podStats: m.PodStats, updateContainer: m.UpdateContainer, answer: m.RunHandler,
		imageFilesystem: m.ImageFilesystem, features: m.Features,
	}
	r.listUsedImages = func(ctx context.Context) ([]string, error) { return r.usedBy(ctx, rt.StateRunning, rt.StateExited) }
	r.reopenLog = func(_ context.Context, id string) error {
		switch _, c, ok := r.find(id); {
		case !ok:
			return rt.ErrNotFound
		case c.State != rt.StateRunning:
			return rt.ErrWrongState
		}
		return nil
	}
	return r
}

func (r *tampered) ListPods(ctx context.Context) ([]rt.Pod, error) { return r.listPods(ctx) }
func (r *tampered) PodStatus(ctx context.Context, uid types.UID) (*rt.PodStatus, error) {
	return r.podStatus(ctx, uid)
}
func (r *tampered) RunSandbox(ctx context.Context, req rt.RunSandboxRequest) (string, error) {
	return r.runSandbox(ctx, req)
}
func (r *tampered) StopSandbox(ctx context.Context, req rt.StopSandboxRequest) error {
	return r.stopSandbox(ctx, req)
}
func (r *tampered) RemoveSandbox(ctx context.Context, req rt.RemoveSandboxRequest) error {
	return r.removeSandbox(ctx, req)
}
func (r *tampered) CreateContainer(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
	return r.createContainer(ctx, req)
}
func (r *tampered) StartContainer(ctx context.Context, req rt.StartContainerRequest) error {
	return r.startContainer(ctx, req)
}
func (r *tampered) StopContainer(ctx context.Context, req rt.StopContainerRequest) error {
	return r.stopContainer(ctx, req)
}
func (r *tampered) RemoveContainer(ctx context.Context, req rt.RemoveContainerRequest) error {
	return r.removeContainer(ctx, req)
}
func (r *tampered) PullImage(ctx context.Context, req rt.PullImageRequest) (string, error) {
	return r.pullImage(ctx, req)
}
func (r *tampered) ImageStatus(ctx context.Context, req rt.ImageStatusRequest) (rt.Image, error) {
	return r.imageStatus(ctx, req)
}
func (r *tampered) ListImages(ctx context.Context) ([]rt.Image, error) { return r.listImages(ctx) }
func (r *tampered) RemoveImage(ctx context.Context, req rt.RemoveImageRequest) error {
	return r.removeImage(ctx, req)
}
func (r *tampered) Events(ctx context.Context, sink func(rt.Event)) error { return r.events(ctx, sink) }
func (r *tampered) RuntimeStatus(ctx context.Context) (rt.RuntimeStatus, error) {
	return r.runtimeStatus(ctx)
}
func (r *tampered) Version(ctx context.Context) (string, string, error) { return r.version(ctx) }
func (r *tampered) Exec(ctx context.Context, req rt.ExecRequest) (rt.ExecResult, error) {
	return r.exec(ctx, req)
}
func (r *tampered) ExecStream(ctx context.Context, req rt.ExecStreamRequest, streams rt.Streams) (int32, error) {
	return r.execStream(ctx, req, streams)
}
func (r *tampered) ReadLog(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
	return r.readLog(ctx, req, w)
}
func (r *tampered) ReopenContainerLog(ctx context.Context, id string) error {
	return r.reopenLog(ctx, id)
}
func (r *tampered) PodStats(ctx context.Context, uid types.UID) (rt.PodStats, error) {
	return r.podStats(ctx, uid)
}
func (r *tampered) UpdateContainer(ctx context.Context, req rt.UpdateContainerRequest) error {
	return r.updateContainer(ctx, req)
}
func (r *tampered) RunHandler(ctx context.Context, req rt.RunHandlerRequest) (rt.RunHandlerResult, error) {
	return r.answer(ctx, req)
}

// usedBy are the images of containers in one of these states.
func (r *tampered) usedBy(ctx context.Context, states ...rt.State) (used []string, err error) {
	pods, err := r.m.ListPods(ctx)
	for _, pod := range pods {
		st, err := r.m.PodStatus(ctx, pod.UID)
		if err != nil {
			return nil, err
		}
		for _, c := range st.Containers {
			if slices.Contains(states, c.State) {
				used = append(used, c.ImageRef)
			}
		}
	}
	return used, err
}

func (r *tampered) Features() rt.Features { return r.features() }
func (r *tampered) ListUsedImages(ctx context.Context) ([]string, error) {
	return r.listUsedImages(ctx)
}
func (r *tampered) ImageFilesystem(ctx context.Context) (rt.FilesystemUsage, error) {
	return r.imageFilesystem(ctx)
}

// find is a container's record, and that of its pod, from behind.
func (r *tampered) find(id string) (rt.Pod, rt.Container, bool) {
	list, _ := r.m.ListPods(context.Background())
	for _, p := range list {
		for _, c := range p.Containers {
			if c.ID == id {
				return p, c, true
			}
		}
	}
	return rt.Pod{}, rt.Container{}, false
}

// recorder is a T that notes what would have happened to the test.
type recorder struct {
	failed, skipped bool
	said            string // last
}

func (*recorder) Helper()    {}
func (r *recorder) FailNow() { r.failed = true; runtime.Goexit() }
func (r *recorder) Errorf(format string, args ...any) {
	r.failed, r.said = true, fmt.Sprintf(format, args...)
}
func (r *recorder) Skipf(format string, args ...any) {
	r.skipped, r.said = true, fmt.Sprintf(format, args...)
	runtime.Goexit()
}
