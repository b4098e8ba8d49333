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

var errNotReady = errors.New("runtimetest: the container has not said that it is ready")

// watched is the runtime under test with a watch over every call: one that does
// not return is given up, and told of with its method, request and time. It has the methods of
// every optional role; features says which roles the runtime has.
type watched struct {
	inner    runtime.Runtime
	executor executor.Executor
	timeout  time.Duration

	mu  sync.Mutex
	bad string // what is to be told of the first call that was blocked or panicked
}

// features returns the optional roles that the runtime has now.
func (w *watched) features() runtime.Features { return runtime.FeaturesOf(w.inner) }

// trouble is what is to be told of a call that was blocked or panicked; empty if
// there was none.
func (w *watched) trouble() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bad
}

func (w *watched) note(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad == "" {
		w.bad = err.Error()
	}
	return err
}

// call is one call under watch.
type call struct {
	method  string
	request any
	// own is how long the call may take for what it is asked to do.
	own time.Duration
	// follows: the call goes on until its context ends.
	follows bool
}

// String is the call for people.
func (c call) String() string {
	if c.request == nil {
		return c.method + "()"
	}
	return fmt.Sprintf("%s(%+v)", c.method, c.request)
}

// reply is what a call returned; ended is false if it panicked or ended its
// goroutine.
type reply[R any] struct {
	result R
	err    error
	ended  bool
	panics any
	stack  []byte
}

// under makes a call in a goroutine of its own and waits for its end, or until
// it counts as blocked.
func under[R any](ctx context.Context, w *watched, c call, f func() (R, error)) (R, error) {
	var r reply[R]
	done := w.executor.NewLatch()
	w.executor.Go(func() {
		defer done.Open()
		defer func() {
			if r.panics = recover(); r.panics != nil {
				r.stack = debug.Stack()
			}
		}()
		r.result, r.err = f()
		r.ended = true
	})
	var none R
	switch err := w.await(ctx, c, done); {
	case err != nil && !done.Opened():
		return none, err
	case r.panics != nil:
		return none, w.note(fmt.Errorf("runtimetest: %s panicked: %v\n%s", c, r.panics, r.stack))
	case !r.ended:
		return none, w.note(fmt.Errorf("runtimetest: %s ended the goroutine of its caller", c))
	default:
		return r.result, r.err
	}
}

// await waits for the end of a call as long as that may take.
func (w *watched) await(ctx context.Context, c call, done executor.Latch) error {
	began := w.executor.Now()
	limit := w.timeout + c.own
	if until, ok := ctx.Deadline(); ok && c.own > 0 {
		limit = min(limit, w.timeout+max(0, until.Sub(began)))
	}
	if c.follows && done.Wait(ctx) == nil {
		return nil
	}
	expired, cancel := w.executor.WithDeadline(context.Background(), w.executor.Now().Add(limit))
	defer cancel()
	err := done.Wait(expired)
	if errors.Is(err, context.DeadlineExceeded) {
		return w.note(fmt.Errorf("runtimetest: %s is blocked: it was called at %s and has not returned for %s",
			c, began.Format("15:04:05.000"), w.executor.Now().Sub(began)))
	}
	return err
}

// nothing is the result of a call that returns only an error.
type nothing struct{}

func act(ctx context.Context, w *watched, c call, f func() error) error {
	_, err := under(ctx, w, c, func() (nothing, error) { return nothing{}, f() })
	return err
}

func (w *watched) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	return under(ctx, w, call{method: "ListPods"}, func() ([]runtime.Pod, error) { return w.inner.ListPods(ctx) })
}

func (w *watched) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	return under(ctx, w, call{method: "PodStatus", request: uid}, func() (*runtime.PodStatus, error) { return w.inner.PodStatus(ctx, uid) })
}

func (w *watched) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	return under(ctx, w, call{method: "RunSandbox", request: req}, func() (string, error) { return w.inner.RunSandbox(ctx, req) })
}

func (w *watched) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	return act(ctx, w, call{method: "StopSandbox", request: req}, func() error { return w.inner.StopSandbox(ctx, req) })
}

func (w *watched) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	return act(ctx, w, call{method: "RemoveSandbox", request: req}, func() error { return w.inner.RemoveSandbox(ctx, req) })
}

func (w *watched) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	return under(ctx, w, call{method: "CreateContainer", request: req}, func() (string, error) { return w.inner.CreateContainer(ctx, req) })
}

func (w *watched) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	return act(ctx, w, call{method: "StartContainer", request: req}, func() error { return w.inner.StartContainer(ctx, req) })
}

func (w *watched) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	return act(ctx, w, call{method: "StopContainer", request: req, own: req.Grace}, func() error { return w.inner.StopContainer(ctx, req) })
}

func (w *watched) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	return act(ctx, w, call{method: "RemoveContainer", request: req}, func() error { return w.inner.RemoveContainer(ctx, req) })
}

func (w *watched) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	return under(ctx, w, call{method: "PullImage", request: req, own: 9 * w.timeout}, func() (string, error) { return w.inner.PullImage(ctx, req) })
}

func (w *watched) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	return under(ctx, w, call{method: "ImageStatus", request: req}, func() (runtime.Image, error) { return w.inner.ImageStatus(ctx, req) })
}

func (w *watched) ListImages(ctx context.Context) ([]runtime.Image, error) {
	return under(ctx, w, call{method: "ListImages"}, func() ([]runtime.Image, error) { return w.inner.ListImages(ctx) })
}

func (w *watched) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	return act(ctx, w, call{method: "RemoveImage", request: req}, func() error { return w.inner.RemoveImage(ctx, req) })
}

func (w *watched) Events(ctx context.Context, sink func(runtime.Event)) error {
	return act(ctx, w, call{method: "Events", follows: true}, func() error {
		return w.features().EventSource.Events(ctx, sink)
	})
}

func (w *watched) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return under(ctx, w, call{method: "RuntimeStatus"}, func() (runtime.RuntimeStatus, error) {
		return w.features().StatusReporter.RuntimeStatus(ctx)
	})
}

func (w *watched) Version(ctx context.Context) (name, version string, err error) {
	v, err := under(ctx, w, call{method: "Version"}, func() (v [2]string, err error) {
		v[0], v[1], err = w.features().Versioner.Version(ctx)
		return v, err
	})
	return v[0], v[1], err
}

func (w *watched) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return under(ctx, w, call{method: "Exec", request: req}, func() (runtime.ExecResult, error) {
		return w.features().Execer.Exec(ctx, req)
	})
}

func (w *watched) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (int32, error) {
	return under(ctx, w, call{method: "ExecStream", request: req}, func() (int32, error) {
		return w.features().ExecStreamer.ExecStream(ctx, req, streams)
	})
}

func (w *watched) ReadLog(ctx context.Context, req runtime.ReadLogRequest, out io.Writer) error {
	return act(ctx, w, call{method: "ReadLog", request: req, follows: req.Follow}, func() error {
		return w.features().LogReader.ReadLog(ctx, req, out)
	})
}

func (w *watched) ReopenContainerLog(ctx context.Context, id string) error {
	return act(ctx, w, call{method: "ReopenContainerLog", request: id}, func() error {
		return w.features().LogReopener.ReopenContainerLog(ctx, id)
	})
}

func (w *watched) PodStats(ctx context.Context, uid types.UID) (runtime.PodStats, error) {
	return under(ctx, w, call{method: "PodStats", request: uid}, func() (runtime.PodStats, error) {
		return w.features().StatsReader.PodStats(ctx, uid)
	})
}

func (w *watched) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	return act(ctx, w, call{method: "UpdateContainer", request: req}, func() error {
		return w.features().Updater.UpdateContainer(ctx, req)
	})
}

func (w *watched) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	return under(ctx, w, call{method: "RunHandler", request: req}, func() (runtime.RunHandlerResult, error) {
		return w.features().HandlerRunner.RunHandler(ctx, req)
	})
}

func (w *watched) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	return under(ctx, w, call{method: "ImageFilesystem"}, func() (runtime.FilesystemUsage, error) {
		return w.features().ImageFilesystem.ImageFilesystem(ctx)
	})
}

func (w *watched) ListUsedImages(ctx context.Context) ([]string, error) {
	return under(ctx, w, call{method: "ListUsedImages"}, func() ([]string, error) {
		return w.features().UsedImageLister.ListUsedImages(ctx)
	})
}
