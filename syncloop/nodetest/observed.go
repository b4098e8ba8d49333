package nodetest

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// observed wraps the runtime of a test and reports every call to the trace. A crash can be placed before
// each, and after it with its effect done and its reply lost.
type observed struct {
	inner runtime.Runtime
	clock clock.PassiveClock
	trace *trace
	yield func() error // nil among goroutines
}

// observe puts the trace between a node and a runtime.
func observe(inner runtime.Runtime, clk clock.PassiveClock, tr *trace, yield func() error) runtime.Runtime {
	return &observed{inner, clk, tr, yield}
}

// Features implements runtime.FeatureReporter: of the features of the inner runtime those on which
// a node depends.
func (o *observed) Features() runtime.Features {
	inner := runtime.FeaturesOf(o.inner)
	f := runtime.Features{EventSource: inner.EventSource}
	if inner.StatusReporter != nil {
		f.StatusReporter = observedRoles{o}
	}
	if inner.Execer != nil {
		f.Execer = observedRoles{o}
	}
	if inner.HandlerRunner != nil {
		f.HandlerRunner = observedRoles{o}
	}
	if inner.LogReader != nil {
		f.LogReader = observedRoles{o}
	}
	if inner.LogReopener != nil {
		f.LogReopener = observedRoles{o}
	}
	if inner.ImageFilesystem != nil {
		f.ImageFilesystem = observedRoles{o}
	}
	return f
}

// observedRoles has the calls of the roles that Features returns.
type observedRoles struct{ o *observed }

func (r observedRoles) inner() runtime.Features { return runtime.FeaturesOf(r.o.inner) }

// observation makes one call.
func observation[Q, R any](ctx context.Context, o *observed, verb string, req Q, f func(context.Context, Q) (R, error)) (R, error) {
	began := o.clock.Now()
	var res, none R
	err := o.crashPoint()
	if err == nil {
		res, err = f(ctx, req)
		if lost := o.crashPoint(); lost != nil {
			res, err = none, lost
		}
	}
	o.trace.call(ctx, memory.Call{Verb: verb, Request: req, Result: res, Err: err, Began: began, Ended: o.clock.Now()})
	return res, err
}

func (o *observed) crashPoint() error {
	if o.yield == nil {
		return nil
	}
	return o.yield()
}

// act is observation of a call that returns only an error.
func act[Q any](ctx context.Context, o *observed, verb string, req Q, f func(context.Context, Q) error) error {
	_, err := observation(ctx, o, verb, req, func(ctx context.Context, req Q) (any, error) { return nil, f(ctx, req) })
	return err
}

// asked is observation of a call without a request.
func asked[R any](ctx context.Context, o *observed, verb string, f func(context.Context) (R, error)) (R, error) {
	return observation(ctx, o, verb, any(nil), func(ctx context.Context, _ any) (R, error) { return f(ctx) })
}

func (o *observed) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	return asked(ctx, o, "ListPods", o.inner.ListPods)
}

func (o *observed) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	return observation(ctx, o, "PodStatus", uid, o.inner.PodStatus)
}

func (o *observed) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	return observation(ctx, o, "RunSandbox", req, o.inner.RunSandbox)
}

func (o *observed) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	return act(ctx, o, "StopSandbox", req, o.inner.StopSandbox)
}

func (o *observed) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	return act(ctx, o, "RemoveSandbox", req, o.inner.RemoveSandbox)
}

func (o *observed) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	return observation(ctx, o, "CreateContainer", req, o.inner.CreateContainer)
}

func (o *observed) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	return act(ctx, o, "StartContainer", req, o.inner.StartContainer)
}

func (o *observed) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	return act(ctx, o, "StopContainer", req, o.inner.StopContainer)
}

func (o *observed) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	return act(ctx, o, "RemoveContainer", req, o.inner.RemoveContainer)
}

func (o *observed) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	return observation(ctx, o, "PullImage", req, o.inner.PullImage)
}

func (o *observed) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	return observation(ctx, o, "ImageStatus", req, o.inner.ImageStatus)
}

func (o *observed) ListImages(ctx context.Context) ([]runtime.Image, error) {
	return asked(ctx, o, "ListImages", o.inner.ListImages)
}

func (o *observed) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	return act(ctx, o, "RemoveImage", req, o.inner.RemoveImage)
}

// RuntimeStatus implements runtime.StatusReporter.
func (r observedRoles) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return asked(ctx, r.o, "RuntimeStatus", r.inner().StatusReporter.RuntimeStatus)
}

// ImageFilesystem implements runtime.ImageFilesystem.
func (r observedRoles) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	return asked(ctx, r.o, "ImageFilesystem", r.inner().ImageFilesystem.ImageFilesystem)
}

// ReopenContainerLog implements runtime.LogReopener.
func (r observedRoles) ReopenContainerLog(ctx context.Context, id string) error {
	return act(ctx, r.o, "ReopenContainerLog", id, r.inner().LogReopener.ReopenContainerLog)
}

// Exec implements runtime.Execer.
func (r observedRoles) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return observation(ctx, r.o, "Exec", req, r.inner().Execer.Exec)
}

// ReadLog implements runtime.LogReader.
func (r observedRoles) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	return act(ctx, r.o, "ReadLog", req, func(ctx context.Context, req runtime.ReadLogRequest) error {
		return r.inner().LogReader.ReadLog(ctx, req, w)
	})
}

// RunHandler implements runtime.HandlerRunner.
func (r observedRoles) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	return observation(ctx, r.o, "RunHandler", req, r.inner().HandlerRunner.RunHandler)
}
