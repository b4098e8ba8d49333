package nodetest

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// recordingRuntime wraps a runtime of the test and records every call. The node can crash before each
// call, and after it, when the effect is done and the reply is lost.
type recordingRuntime struct {
	inner runtime.Runtime
	clock clock.PassiveClock
	trace *trace
	yield func() error // nil outside of a simulation
}

// newRecordingRuntime returns a runtime that passes each call to inner and records it in the trace. yield is
// called before and after each call, so that a simulated node can crash there; it may be nil.
func newRecordingRuntime(inner runtime.Runtime, clk clock.PassiveClock, tr *trace, yield func() error) runtime.Runtime {
	return &recordingRuntime{inner, clk, tr, yield}
}

// Features implements runtime.FeatureReporter. It returns those features of the inner runtime that a node uses,
// and records their calls too.
func (o *recordingRuntime) Features() runtime.Features {
	inner := runtime.FeaturesOf(o.inner)
	f := runtime.Features{EventSource: inner.EventSource}
	if inner.StatusReporter != nil {
		f.StatusReporter = recordingRoles{o}
	}
	if inner.Execer != nil {
		f.Execer = recordingRoles{o}
	}
	if inner.HandlerRunner != nil {
		f.HandlerRunner = recordingRoles{o}
	}
	if inner.LogReader != nil {
		f.LogReader = recordingRoles{o}
	}
	if inner.LogReopener != nil {
		f.LogReopener = recordingRoles{o}
	}
	if inner.ImageFilesystem != nil {
		f.ImageFilesystem = recordingRoles{o}
	}
	return f
}

// recordingRoles implements the roles that Features returns.
type recordingRoles struct{ o *recordingRuntime }

// innerFeatures returns the features of the inner runtime, which the recording runtime wraps.
func (r recordingRoles) innerFeatures() runtime.Features { return runtime.FeaturesOf(r.o.inner) }

// makeAndRecordCall calls f, a function of the inner runtime, with req. It records the call in the trace, which
// checks it. If the simulated node crashes before or after the call, the result is empty and the error is the
// crash.
func makeAndRecordCall[Q, R any](ctx context.Context, o *recordingRuntime, verb string, req Q, f func(context.Context, Q) (R, error)) (R, error) {
	began := o.clock.Now()
	var res, none R
	err := o.yieldForCrash()
	if err == nil {
		res, err = f(ctx, req)
		if lost := o.yieldForCrash(); lost != nil {
			res, err = none, lost
		}
	}
	o.trace.recordAndCheckCall(ctx, memory.Call{Verb: verb, Request: req, Result: res, Err: err, Began: began, Ended: o.clock.Now()})
	return res, err
}

// yieldForCrash lets the simulation run other code, and returns an error if the simulated node has crashed
// meanwhile. Outside a simulation it returns nil.
func (o *recordingRuntime) yieldForCrash() error {
	if o.yield == nil {
		return nil
	}
	return o.yield()
}

// makeAndRecordErrorCall calls f, a function of the inner runtime that returns only an error. It records the
// call in the trace, which checks it. If the simulated node crashes before or after the call, the error is the
// crash.
func makeAndRecordErrorCall[Q any](ctx context.Context, o *recordingRuntime, verb string, req Q, f func(context.Context, Q) error) error {
	_, err := makeAndRecordCall(ctx, o, verb, req, func(ctx context.Context, req Q) (any, error) { return nil, f(ctx, req) })
	return err
}

// makeAndRecordCallOrReturnCrash calls f, a function of the inner runtime that takes only a context. It records
// the call in the trace, which checks it. If the simulated node crashes before or after the call, the result is
// empty and the error is the crash.
func makeAndRecordCallOrReturnCrash[R any](ctx context.Context, o *recordingRuntime, verb string, f func(context.Context) (R, error)) (R, error) {
	return makeAndRecordCall(ctx, o, verb, any(nil), func(ctx context.Context, _ any) (R, error) { return f(ctx) })
}

func (o *recordingRuntime) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	return makeAndRecordCallOrReturnCrash(ctx, o, "ListPods", o.inner.ListPods)
}

func (o *recordingRuntime) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	return makeAndRecordCall(ctx, o, "PodStatus", uid, o.inner.PodStatus)
}

func (o *recordingRuntime) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	return makeAndRecordCall(ctx, o, "RunSandbox", req, o.inner.RunSandbox)
}

func (o *recordingRuntime) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	return makeAndRecordErrorCall(ctx, o, "StopSandbox", req, o.inner.StopSandbox)
}

func (o *recordingRuntime) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	return makeAndRecordErrorCall(ctx, o, "RemoveSandbox", req, o.inner.RemoveSandbox)
}

func (o *recordingRuntime) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	return makeAndRecordCall(ctx, o, "CreateContainer", req, o.inner.CreateContainer)
}

func (o *recordingRuntime) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	return makeAndRecordErrorCall(ctx, o, "StartContainer", req, o.inner.StartContainer)
}

func (o *recordingRuntime) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	return makeAndRecordErrorCall(ctx, o, "StopContainer", req, o.inner.StopContainer)
}

func (o *recordingRuntime) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	return makeAndRecordErrorCall(ctx, o, "RemoveContainer", req, o.inner.RemoveContainer)
}

func (o *recordingRuntime) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	return makeAndRecordCall(ctx, o, "PullImage", req, o.inner.PullImage)
}

func (o *recordingRuntime) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	return makeAndRecordCall(ctx, o, "ImageStatus", req, o.inner.ImageStatus)
}

func (o *recordingRuntime) ListImages(ctx context.Context) ([]runtime.Image, error) {
	return makeAndRecordCallOrReturnCrash(ctx, o, "ListImages", o.inner.ListImages)
}

func (o *recordingRuntime) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	return makeAndRecordErrorCall(ctx, o, "RemoveImage", req, o.inner.RemoveImage)
}

// RuntimeStatus implements runtime.StatusReporter.
func (r recordingRoles) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return makeAndRecordCallOrReturnCrash(ctx, r.o, "RuntimeStatus", r.innerFeatures().StatusReporter.RuntimeStatus)
}

// ImageFilesystem implements runtime.ImageFilesystem.
func (r recordingRoles) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	return makeAndRecordCallOrReturnCrash(ctx, r.o, "ImageFilesystem", r.innerFeatures().ImageFilesystem.ImageFilesystem)
}

// ReopenContainerLog implements runtime.LogReopener.
func (r recordingRoles) ReopenContainerLog(ctx context.Context, id string) error {
	return makeAndRecordErrorCall(ctx, r.o, "ReopenContainerLog", id, r.innerFeatures().LogReopener.ReopenContainerLog)
}

// Exec implements runtime.Execer.
func (r recordingRoles) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return makeAndRecordCall(ctx, r.o, "Exec", req, r.innerFeatures().Execer.Exec)
}

// ReadLog implements runtime.LogReader.
func (r recordingRoles) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	return makeAndRecordErrorCall(ctx, r.o, "ReadLog", req, func(ctx context.Context, req runtime.ReadLogRequest) error {
		return r.innerFeatures().LogReader.ReadLog(ctx, req, w)
	})
}

// RunHandler implements runtime.HandlerRunner.
func (r recordingRoles) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	return makeAndRecordCall(ctx, r.o, "RunHandler", req, r.innerFeatures().HandlerRunner.RunHandler)
}
