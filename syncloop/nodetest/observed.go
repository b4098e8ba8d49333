package nodetest

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// observed wraps the runtime of a test and reports every call to the trace. A crash can be placed before each, and after it with its effect done and
// its reply lost.
type observed struct {
	inner runtime.Runtime
	clock clock.PassiveClock
	trace *trace
	yield func() error // nil among goroutines
}

// observe puts the trace between a node and a runtime. It has those of the optional
// interfaces on whose presence the node decides that the runtime has.
func observe(inner runtime.Runtime, clk clock.PassiveClock, tr *trace, yield func() error) runtime.Runtime {
	o := &observed{inner, clk, tr, yield}
	x, canExec := inner.(runtime.Execer)
	l, canLog := inner.(runtime.LogReader)
	a, canAnswer := inner.(runtime.HandlerRunner)
	type (
		execer        = observedExecer
		logs          = observedLogs
		handlerRunner = observedHandlerRunner
	)
	switch {
	case canExec && canLog && canAnswer:
		return struct {
			*observed
			execer
			logs
			handlerRunner
		}{o, execer{o, x}, logs{o, l}, handlerRunner{o, a}}
	case canExec && canLog:
		return struct {
			*observed
			execer
			logs
		}{o, execer{o, x}, logs{o, l}}
	case canExec && canAnswer:
		return struct {
			*observed
			execer
			handlerRunner
		}{o, execer{o, x}, handlerRunner{o, a}}
	case canLog && canAnswer:
		return struct {
			*observed
			logs
			handlerRunner
		}{o, logs{o, l}, handlerRunner{o, a}}
	case canExec:
		return struct {
			*observed
			execer
		}{o, execer{o, x}}
	case canLog:
		return struct {
			*observed
			logs
		}{o, logs{o, l}}
	case canAnswer:
		return struct {
			*observed
			handlerRunner
		}{o, handlerRunner{o, a}}
	}
	return o
}

type (
	observedExecer struct {
		o     *observed
		inner runtime.Execer
	}
	observedLogs struct {
		o     *observed
		inner runtime.LogReader
	}
	observedHandlerRunner struct {
		o     *observed
		inner runtime.HandlerRunner
	}
)

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

func lacks(verb string) error { return fmt.Errorf("nodetest: %s: %w", verb, runtime.ErrUnsupported) }

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

// Events implements runtime.EventSource.
func (o *observed) Events(ctx context.Context, sink func(runtime.Event)) error {
	source, ok := o.inner.(runtime.EventSource)
	if !ok {
		return lacks("Events")
	}
	return source.Events(ctx, sink)
}

// RuntimeStatus implements runtime.StatusReporter.
func (o *observed) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	if reporter, ok := o.inner.(runtime.StatusReporter); ok {
		return asked(ctx, o, "RuntimeStatus", reporter.RuntimeStatus)
	}
	return runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}, nil
}

// ImageFilesystem implements runtime.ImageFilesystem.
func (o *observed) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	if disk, ok := o.inner.(runtime.ImageFilesystem); ok {
		return asked(ctx, o, "ImageFilesystem", disk.ImageFilesystem)
	}
	return runtime.FilesystemUsage{}, nil
}

// ReopenContainerLog implements runtime.LogReopener.
func (o *observed) ReopenContainerLog(ctx context.Context, id string) error {
	if reopener, ok := o.inner.(runtime.LogReopener); ok {
		return act(ctx, o, "ReopenContainerLog", id, reopener.ReopenContainerLog)
	}
	return lacks("ReopenContainerLog")
}

// Exec implements runtime.Execer.
func (x observedExecer) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return observation(ctx, x.o, "Exec", req, x.inner.Exec)
}

// ReadLog implements runtime.LogReader.
func (l observedLogs) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	return act(ctx, l.o, "ReadLog", req, func(ctx context.Context, req runtime.ReadLogRequest) error { return l.inner.ReadLog(ctx, req, w) })
}

// RunHandler implements runtime.HandlerRunner.
func (a observedHandlerRunner) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	return observation(ctx, a.o, "RunHandler", req, a.inner.RunHandler)
}
