package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

var errNotReady = errors.New("runtimetest: the container did not report that it is ready")

// monitored is the runtime under test with a timeout for every call. If a call does not return in
// time, the caller gets an error with its method, request and time. It has the methods of every
// optional role; features returns the roles that the runtime has.
type monitored struct {
	inner    runtime.Runtime
	executor executor.Executor
	timeout  time.Duration

	mu           sync.Mutex
	firstProblem string // the first call that was blocked or panicked, for the failure message
}

// innerFeatures returns the features that the wrapped runtime reports now.
func (w *monitored) innerFeatures() runtime.Features { return runtime.FeaturesOf(w.inner) }

// describeFirstProblem describes the first call that was blocked or panicked. It is empty if there was no such
// call.
func (w *monitored) describeFirstProblem() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.firstProblem
}

// storeFirstProblem stores the text of err, unless an earlier problem is stored, and returns err.
func (w *monitored) storeFirstProblem(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.firstProblem == "" {
		w.firstProblem = err.Error()
	}
	return err
}

// monitoredCall is one call with its limits.
type monitoredCall struct {
	method  string
	request any
	// extraTime is how long the call may take in addition to the timeout.
	extraTime time.Duration
	// untilContextEnds is true for a call that lasts until its context ends.
	untilContextEnds bool
}

// String formats the call for a message.
func (c monitoredCall) String() string {
	if c.request == nil {
		return c.method + "()"
	}
	return fmt.Sprintf("%s(%+v)", c.method, c.request)
}

// callResult is the result of a call. returned is false if the call panicked or ended its
// goroutine.
type callResult[R any] struct {
	result     R
	err        error
	returned   bool
	panicValue any
	stack      []byte
}

// callMonitored makes a runtime call on its own goroutine and waits until it returns or has taken longer than
// allowed. A call that takes too long, panics or ends its goroutine is stored as a problem and returned as an
// error.
func callMonitored[R any](ctx context.Context, w *monitored, c monitoredCall, method func() (R, error)) (R, error) {
	var r callResult[R]
	done := w.executor.NewLatch()
	w.executor.Go(func() {
		defer done.Open()
		defer func() {
			if r.panicValue = recover(); r.panicValue != nil {
				r.stack = debug.Stack()
			}
		}()
		r.result, r.err = method()
		r.returned = true
	})
	var none R
	switch err := w.waitForReturnOrStoreBlocked(ctx, c, done); {
	case err != nil && !done.Opened():
		return none, err
	case r.panicValue != nil:
		return none, w.storeFirstProblem(fmt.Errorf("runtimetest: %s panicked: %v\n%s", c, r.panicValue, r.stack))
	case !r.returned:
		return none, w.storeFirstProblem(fmt.Errorf("runtimetest: %s ended the goroutine of its caller", c))
	default:
		return r.result, r.err
	}
}

// waitForReturnOrStoreBlocked waits until a call returns. If the call takes longer than allowed, it stores that
// as a problem and returns it as an error.
func (w *monitored) waitForReturnOrStoreBlocked(ctx context.Context, c monitoredCall, done executor.Latch) error {
	began := w.executor.Now()
	limit := w.timeout + c.extraTime
	if until, ok := ctx.Deadline(); ok && c.extraTime > 0 {
		limit = min(limit, w.timeout+max(0, until.Sub(began)))
	}
	if c.untilContextEnds && done.Wait(ctx) == nil {
		return nil
	}
	expired, cancel := w.executor.WithDeadline(context.Background(), w.executor.Now().Add(limit))
	defer cancel()
	err := done.Wait(expired)
	if errors.Is(err, context.DeadlineExceeded) {
		return w.storeFirstProblem(fmt.Errorf("runtimetest: %s is blocked: it was called at %s and has not returned after %s",
			c, began.Format("15:04:05.000"), w.executor.Now().Sub(began)))
	}
	return err
}

// nothing is the result of a call that returns only an error.
type nothing struct{}

// callMonitoredError makes a monitored runtime call, as callMonitored does, for a method that returns only an
// error.
func callMonitoredError(ctx context.Context, w *monitored, c monitoredCall, method func() error) error {
	_, err := callMonitored(ctx, w, c, func() (nothing, error) { return nothing{}, method() })
	return err
}

func (w *monitored) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	return callMonitored(ctx, w, monitoredCall{method: "ListPods"}, func() ([]runtime.Pod, error) { return w.inner.ListPods(ctx) })
}

func (w *monitored) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	return callMonitored(ctx, w, monitoredCall{method: "PodStatus", request: uid}, func() (*runtime.PodStatus, error) { return w.inner.PodStatus(ctx, uid) })
}

func (w *monitored) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	return callMonitored(ctx, w, monitoredCall{method: "RunSandbox", request: req}, func() (string, error) { return w.inner.RunSandbox(ctx, req) })
}

func (w *monitored) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	return callMonitoredError(ctx, w, monitoredCall{method: "StopSandbox", request: req}, func() error { return w.inner.StopSandbox(ctx, req) })
}

func (w *monitored) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	return callMonitoredError(ctx, w, monitoredCall{method: "RemoveSandbox", request: req}, func() error { return w.inner.RemoveSandbox(ctx, req) })
}

func (w *monitored) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	return callMonitored(ctx, w, monitoredCall{method: "CreateContainer", request: req}, func() (string, error) { return w.inner.CreateContainer(ctx, req) })
}

func (w *monitored) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	return callMonitoredError(ctx, w, monitoredCall{method: "StartContainer", request: req}, func() error { return w.inner.StartContainer(ctx, req) })
}

func (w *monitored) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	return callMonitoredError(ctx, w, monitoredCall{method: "StopContainer", request: req, extraTime: req.Grace}, func() error { return w.inner.StopContainer(ctx, req) })
}

func (w *monitored) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	return callMonitoredError(ctx, w, monitoredCall{method: "RemoveContainer", request: req}, func() error { return w.inner.RemoveContainer(ctx, req) })
}

func (w *monitored) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	return callMonitored(ctx, w, monitoredCall{method: "PullImage", request: req, extraTime: 9 * w.timeout}, func() (string, error) { return w.inner.PullImage(ctx, req) })
}

func (w *monitored) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	return callMonitored(ctx, w, monitoredCall{method: "ImageStatus", request: req}, func() (runtime.Image, error) { return w.inner.ImageStatus(ctx, req) })
}

func (w *monitored) ListImages(ctx context.Context) ([]runtime.Image, error) {
	return callMonitored(ctx, w, monitoredCall{method: "ListImages"}, func() ([]runtime.Image, error) { return w.inner.ListImages(ctx) })
}

func (w *monitored) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	return callMonitoredError(ctx, w, monitoredCall{method: "RemoveImage", request: req}, func() error { return w.inner.RemoveImage(ctx, req) })
}

func (w *monitored) Events(ctx context.Context, sink func(runtime.Event)) error {
	return callMonitoredError(ctx, w, monitoredCall{method: "Events", untilContextEnds: true}, func() error {
		return w.innerFeatures().EventSource.Events(ctx, sink)
	})
}

func (w *monitored) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return callMonitored(ctx, w, monitoredCall{method: "RuntimeStatus"}, func() (runtime.RuntimeStatus, error) {
		return w.innerFeatures().StatusReporter.RuntimeStatus(ctx)
	})
}

func (w *monitored) Version(ctx context.Context) (name, version string, err error) {
	v, err := callMonitored(ctx, w, monitoredCall{method: "Version"}, func() (v [2]string, err error) {
		v[0], v[1], err = w.innerFeatures().Versioner.Version(ctx)
		return v, err
	})
	return v[0], v[1], err
}

func (w *monitored) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return callMonitored(ctx, w, monitoredCall{method: "Exec", request: req}, func() (runtime.ExecResult, error) {
		return w.innerFeatures().Execer.Exec(ctx, req)
	})
}

func (w *monitored) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (int32, error) {
	return callMonitored(ctx, w, monitoredCall{method: "ExecStream", request: req}, func() (int32, error) {
		return w.innerFeatures().ExecStreamer.ExecStream(ctx, req, streams)
	})
}

func (w *monitored) ReadLog(ctx context.Context, req runtime.ReadLogRequest, out io.Writer) error {
	return callMonitoredError(ctx, w, monitoredCall{method: "ReadLog", request: req, untilContextEnds: req.Follow}, func() error {
		return w.innerFeatures().LogReader.ReadLog(ctx, req, out)
	})
}

func (w *monitored) ReopenContainerLog(ctx context.Context, id string) error {
	return callMonitoredError(ctx, w, monitoredCall{method: "ReopenContainerLog", request: id}, func() error {
		return w.innerFeatures().LogReopener.ReopenContainerLog(ctx, id)
	})
}

func (w *monitored) PodStats(ctx context.Context, uid types.UID) (runtime.PodStats, error) {
	return callMonitored(ctx, w, monitoredCall{method: "PodStats", request: uid}, func() (runtime.PodStats, error) {
		return w.innerFeatures().StatsReader.PodStats(ctx, uid)
	})
}

func (w *monitored) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	return callMonitoredError(ctx, w, monitoredCall{method: "UpdateContainer", request: req}, func() error {
		return w.innerFeatures().Updater.UpdateContainer(ctx, req)
	})
}

func (w *monitored) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	return callMonitored(ctx, w, monitoredCall{method: "RunHandler", request: req}, func() (runtime.RunHandlerResult, error) {
		return w.innerFeatures().HandlerRunner.RunHandler(ctx, req)
	})
}

func (w *monitored) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	return callMonitored(ctx, w, monitoredCall{method: "ImageFilesystem"}, func() (runtime.FilesystemUsage, error) {
		return w.innerFeatures().ImageFilesystem.ImageFilesystem(ctx)
	})
}

func (w *monitored) ListUsedImages(ctx context.Context) ([]string, error) {
	return callMonitored(ctx, w, monitoredCall{method: "ListUsedImages"}, func() ([]string, error) {
		return w.innerFeatures().UsedImageLister.ListUsedImages(ctx)
	})
}
