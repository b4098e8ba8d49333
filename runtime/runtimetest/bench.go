package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// bench runs one case. It holds the runtime under test, a context that ends before the test does,
// and the pods that removePodsAndCancel removes.
type bench struct {
	conformance.Bench
	h          Harness
	rt         *monitored
	executor   executor.Executor
	ctx        context.Context
	cancel     context.CancelFunc
	background *executor.Group // calls that run beside the case
	name       string
	// trapDelay is how long the case waits for a container to set its traps if nothing confirms
	// them.
	trapDelay        time.Duration
	trapsUnconfirmed atomic.Bool // trapsUnconfirmed is true after such a wait.
	pods             []types.UID
}

// newBench returns the helper object of one test case: the runtime with monitored calls, a context with a
// deadline, and a group for background calls.
func newBench(t testing.TB, c Case, h Harness, trapDelay time.Duration) *bench {
	b := &bench{h: h, executor: executor.Over(h.Clock), name: strings.ReplaceAll(c.Name, "/", "-"), trapDelay: trapDelay}
	b.rt = &monitored{inner: h.Runtime, executor: b.executor, timeout: h.CallTimeout}
	// Every failure also reports a blocked call, which may be its cause.
	b.Bench = conformance.Bench{T: t, Name: c.Name, Promise: c.Promise, Note: b.rt.describeFirstProblem}
	b.ctx, b.cancel = b.executor.WithDeadline(context.Background(), b.executor.Now().Add(20*h.WaitTimeout))
	b.background = executor.NewGroup(b.executor)
	return b
}

// removePodsAndCancel cancels the context, waits for background calls and removes the sandboxes of the case's
// pods. It ignores errors. If the runtime has blocked a call or panicked, it removes nothing.
func (b *bench) removePodsAndCancel() {
	b.cancel()
	b.background.Wait()
	if b.rt.describeFirstProblem() != "" {
		return
	}
	ctx, cancel := b.executor.WithDeadline(context.Background(), b.executor.Now().Add(b.h.WaitTimeout))
	defer cancel()
	for _, uid := range b.pods {
		st, err := b.rt.PodStatus(ctx, uid)
		if err != nil || st == nil {
			continue
		}
		for _, s := range st.Sandboxes {
			_ = b.rt.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: s.ID})
			_ = b.rt.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: s.ID})
		}
	}
}

// requireErrorIs fails the case if err does not wrap want.
func (b *bench) requireErrorIs(err, want error, operation string) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Failf("%s returned the error %v, want one that wraps %q", operation, err, want)
	}
}

// requireNoBlockedCall fails the case if a call was blocked or panicked.
func (b *bench) requireNoBlockedCall() {
	b.Helper()
	if trouble := b.rt.describeFirstProblem(); trouble != "" {
		b.Failf("%s", trouble)
	}
}

// waitFor polls until holds returns true. It fails the case, with the text condition, if that takes longer than
// WaitTimeout.
func (b *bench) waitFor(condition string, holds func() bool) {
	b.Helper()
	deadline := b.executor.Now().Add(b.h.WaitTimeout)
	for !holds() {
		if b.executor.Now().After(deadline) {
			b.Failf("waited %s, and this did not happen: %s", b.h.WaitTimeout, condition)
		}
		b.sleep(50 * time.Millisecond)
	}
}

func (b *bench) sleep(d time.Duration) {
	b.Helper()
	b.Must(b.executor.Sleep(b.ctx, d), "waiting")
}

// newPodToCleanUp returns a PodRef with a new UID and records the UID, so that removePodsAndCancel removes the
// pod. It makes no runtime call.
func (b *bench) newPodToCleanUp() runtime.PodRef {
	n := len(b.pods)
	uid := types.UID(fmt.Sprintf("%s-%d-%d", b.name, b.executor.Now().UnixNano(), n))
	b.pods = append(b.pods, uid)
	return runtime.PodRef{UID: uid, Name: fmt.Sprintf("%s-%d", b.name, n), Namespace: "runtimetest", Incarnation: 7}
}

// pullImage pulls the image of the harness and returns its reference. It fails the case on an error.
func (b *bench) pullImage() string {
	b.Helper()
	ref, err := b.rt.PullImage(b.ctx, runtime.PullImageRequest{Image: b.h.Image})
	b.Must(err, "PullImage")
	return ref
}

// sandboxRequest returns a request for a sandbox with a hostname, the log directory and an annotation.
func (b *bench) sandboxRequest(ref runtime.PodRef, attempt uint32) runtime.RunSandboxRequest {
	return runtime.RunSandboxRequest{
		Pod: ref, Attempt: attempt, Hostname: "runtimetest", LogDir: b.h.LogDir,
		Annotations: map[string]string{"runtimetest.podkeel.dev/sandbox": "yes"},
	}
}

// runSandbox creates a sandbox and returns its ID. It fails the case on an error.
func (b *bench) runSandbox(ref runtime.PodRef, attempt uint32) string {
	b.Helper()
	id, err := b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, attempt))
	b.Must(err, "RunSandbox")
	return id
}

// containerRequest pulls the image and returns a request for a container with an annotation and, if the harness
// has a log directory, a log path. It fails the case if the pull fails.
func (b *bench) containerRequest(ref runtime.PodRef, sandbox, name string, attempt uint32, command []string) runtime.CreateContainerRequest {
	b.Helper()
	path := ""
	if b.h.LogDir != "" {
		path = logPath(ref, name, attempt)
	}
	return runtime.CreateContainerRequest{
		Pod: ref, SandboxID: sandbox, Name: name, Attempt: attempt,
		Image: b.h.Image, ImageRef: b.pullImage(), Command: command, LogPath: path,
		Annotations: map[string]string{"runtimetest.podkeel.dev/container": name},
	}
}

// logPath returns the log path of a container, relative to Harness.LogDir.
func logPath(ref runtime.PodRef, name string, attempt uint32) string {
	return fmt.Sprintf("%s_%s_%d.log", ref.UID, name, attempt)
}

func (b *bench) createContainer(ref runtime.PodRef, sandbox, name string, attempt uint32, command []string) string {
	b.Helper()
	id, err := b.rt.CreateContainer(b.ctx, b.containerRequest(ref, sandbox, name, attempt, command))
	b.Must(err, "CreateContainer")
	return id
}

func (b *bench) startContainer(id string) {
	b.Helper()
	b.Must(b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: id}), "StartContainer")
}

// runContainer creates a pod with a sandbox and a container, starts the container and returns the pod and both
// IDs. It fails the case on an error.
func (b *bench) runContainer(command []string) (ref runtime.PodRef, sandbox, id string) {
	b.Helper()
	ref = b.newPodToCleanUp()
	sandbox = b.runSandbox(ref, 0)
	id = b.createContainer(ref, sandbox, "main", 0, command)
	b.startContainer(id)
	return ref, sandbox, id
}

func (b *bench) stopContainer(id string, grace time.Duration) error {
	return b.rt.StopContainer(b.ctx, runtime.StopContainerRequest{ContainerID: id, Grace: grace})
}

func (b *bench) stopSandbox(id string) error {
	return b.rt.StopSandbox(b.ctx, runtime.StopSandboxRequest{SandboxID: id})
}

func (b *bench) removeSandbox(id string) error {
	return b.rt.RemoveSandbox(b.ctx, runtime.RemoveSandboxRequest{SandboxID: id})
}

func (b *bench) removeContainer(id string) error {
	return b.rt.RemoveContainer(b.ctx, runtime.RemoveContainerRequest{ContainerID: id})
}

func (b *bench) removeContainerIfNeverRan(id string) error {
	return b.rt.RemoveContainer(b.ctx, runtime.RemoveContainerRequest{ContainerID: id, NeverRan: true})
}

func (b *bench) podStatus(ref runtime.PodRef) *runtime.PodStatus {
	b.Helper()
	st, err := b.rt.PodStatus(b.ctx, ref.UID)
	b.Must(err, "PodStatus")
	b.Check(st != nil, "PodStatus returned neither a status nor an error")
	return st
}

// containerStatus returns the status of a container from PodStatus. It fails the case if the container is
// missing.
func (b *bench) containerStatus(ref runtime.PodRef, id string) runtime.ContainerStatus {
	b.Helper()
	for _, c := range b.podStatus(ref).Containers {
		if c.ID == id {
			return c
		}
	}
	b.Failf("PodStatus has no record of container %s", id)
	return runtime.ContainerStatus{}
}

// sandboxStatus returns the status of a sandbox from PodStatus. It fails the case if the sandbox is missing.
func (b *bench) sandboxStatus(ref runtime.PodRef, id string) runtime.SandboxStatus {
	b.Helper()
	for _, s := range b.podStatus(ref).Sandboxes {
		if s.ID == id {
			return s
		}
	}
	b.Failf("PodStatus has no record of sandbox %s", id)
	return runtime.SandboxStatus{}
}

// waitForExit waits until a container has exited, and returns its status. It fails the case after WaitTimeout.
func (b *bench) waitForExit(ref runtime.PodRef, id string) runtime.ContainerStatus {
	b.Helper()
	b.waitFor("the container exits", func() bool { return b.containerStatus(ref, id).State == runtime.StateExited })
	return b.containerStatus(ref, id)
}

// findListedPod returns the entry of a pod in ListPods. It returns false if the pod is not listed, and fails
// the case on an error.
func (b *bench) findListedPod(ref runtime.PodRef) (runtime.Pod, bool) {
	b.Helper()
	list, err := b.rt.ListPods(b.ctx)
	b.Must(err, "ListPods")
	for _, p := range list {
		if p.UID == ref.UID {
			return p, true
		}
	}
	return runtime.Pod{}, false
}
