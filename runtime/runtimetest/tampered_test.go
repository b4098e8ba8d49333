package runtimetest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	rt "github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// tampered is a runtime whose methods can be replaced one by one.
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

	// received changes what the runtime takes of a request for a container.
	received func(*rt.CreateContainerRequest)
	// beats is how often a process shows that it lives that a container has started.
	beats func(running time.Duration, state rt.State) int
	// entry is a line of a log file.
	entry func(at, stream, text string) string
	// logDir is where log files are.
	logDir string

	// reopened is called when the agent has ended, before there is another.
	reopened func()

	mu    sync.Mutex        // for the tamperers' own notes, and
	paths map[string]string // LogPath, by ID
}

func newTampered(m *memory.Runtime) *tampered {
	r := &tampered{
		m:        m,
		paths:    map[string]string{},
		reopened: func() {},
		received: func(*rt.CreateContainerRequest) {},
		beats:    func(running time.Duration, _ rt.State) int { return int(running/time.Second) + 1 },
		entry:    func(at, stream, text string) string { return at + " " + stream + " F " + text + "\n" },
		listPods: m.ListPods, podStatus: m.PodStatus,
		runSandbox: m.RunSandbox, stopSandbox: m.StopSandbox, removeSandbox: m.RemoveSandbox,
		createContainer: m.CreateContainer, startContainer: m.StartContainer,
		stopContainer: m.StopContainer, removeContainer: m.RemoveContainer,
		pullImage: m.PullImage, imageStatus: m.ImageStatus, listImages: m.ListImages, removeImage: m.RemoveImage,
		events: m.Events, runtimeStatus: m.RuntimeStatus, version: m.Version,
		exec: m.Exec, execStream: m.ExecStream, readLog: m.ReadLog, podStats: m.PodStats, updateContainer: m.UpdateContainer, answer: m.RunHandler,
		imageFilesystem: m.ImageFilesystem,
	}
	r.features = r.roles
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
	r.writeLogs(ctx, uid)
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
	r.received(&req)
	req.Command = understood(req)
	id, err := r.createContainer(ctx, req)
	if err == nil && req.LogPath != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.paths[id] = req.LogPath
	}
	return id, err
}

// understood is a command that the machine runs in the place of one of the harness, which it does
// not understand: its containers run nothing.
func understood(req rt.CreateContainerRequest) []string {
	yes := func(is bool) []string { return map[bool][]string{true: {"true"}, false: {"false"}}[is] }
	switch req.Command[0] {
	case "has-env":
		return yes(slices.Contains(req.Env, rt.EnvVar{Name: req.Command[1], Value: req.Command[2]}))
	case "in-dir":
		return yes(req.WorkingDir == req.Command[1])
	case "ends-by":
		if req.StopSignal != req.Command[1] {
			return []string{"sh", "-c", "trap '' TERM; echo ready; sleep 1000000"}
		}
		return []string{"sh", "-c", "trap 'exit 143' TERM; echo ready; sleep 1000000"}
	case "descendant":
		return []string{"sleep", "1000000"}
	}
	return req.Command
}

// counted is how often a process has shown that it lives that a container has started.
func (r *tampered) counted(_ context.Context, id string) (int, error) {
	pod, c, ok := r.find(id)
	if !ok {
		return 0, rt.ErrNotFound
	}
	st, err := r.m.PodStatus(context.Background(), pod.UID)
	for _, full := range st.Containers {
		if full.ID == id {
			until := time.Now()
			if c.State == rt.StateExited {
				until = full.FinishedAt
			}
			return r.beats(until.Sub(full.StartedAt), c.State), err
		}
	}
	return 0, err
}

// writeLogs writes the log files of the containers of a pod that have exited.
func (r *tampered) writeLogs(ctx context.Context, uid types.UID) {
	for _, c := range r.m.SnapshotPod(uid).Containers {
		r.mu.Lock()
		path := r.paths[c.ID]
		r.mu.Unlock()
		if path == "" || c.State != rt.StateExited {
			continue
		}
		var log bytes.Buffer
		if r.m.ReadLog(ctx, rt.ReadLogRequest{ContainerID: c.ID, Timestamps: true}, &log) != nil {
			continue
		}
		var file strings.Builder
		for line := range strings.Lines(log.String()) {
			at, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			stream := "stdout"
			if text == "two" {
				stream = "stderr"
			}
			file.WriteString(r.entry(at, stream, text))
		}
		_ = os.WriteFile(filepath.Join(r.logDir, path), []byte(file.String()), 0o600)
	}
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

// roles are the features of a runtime that is as it should be.
func (r *tampered) roles() rt.Features {
	f := r.m.Features()
	f.EventSource, f.StatusReporter, f.Versioner, f.Execer, f.ExecStreamer, f.HandlerRunner = r, r, r, r, r, r
	f.LogReader, f.LogReopener, f.ImageFilesystem, f.UsedImageLister, f.StatsReader, f.Updater = r, r, r, r, r, r
	return f
}

func (r *tampered) ListUsedImages(ctx context.Context) ([]string, error) {
	return r.listUsedImages(ctx)
}
func (r *tampered) ImageFilesystem(ctx context.Context) (rt.FilesystemUsage, error) {
	return r.imageFilesystem(ctx)
}

// find searches the records for a container from the end, and returns it with its pod.
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

// recorder is a T that records the failure of a test.
type recorder struct {
	testing.TB
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
