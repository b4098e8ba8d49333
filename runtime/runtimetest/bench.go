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

// bench is where one case works: the runtime, a context that ends before the
// test does, and the pods that must be gone at the end.
type bench struct {
	conformance.Bench
	h        Harness
	rt       *watched
	executor executor.Executor
	ctx      context.Context
	cancel   context.CancelFunc
	others   *executor.Group
	name     string
	// head is how long a container gets to set its traps where nothing tells
	// that it has; unsure: for some container nothing did.
	head   time.Duration
	unsure atomic.Bool
	pods   []types.UID
}

func newBench(t testing.TB, c Case, h Harness, head time.Duration) *bench {
	b := &bench{h: h, executor: executor.Over(h.Clock), name: strings.ReplaceAll(c.Name, "/", "-"), head: head}
	b.rt = &watched{inner: h.Runtime, executor: b.executor, timeout: h.CallTimeout}
	// What has become of a call that was blocked may be the reason of a failure.
	b.Bench = conformance.Bench{T: t, Name: c.Name, Promise: c.Promise, Note: b.rt.trouble}
	b.ctx, b.cancel = b.executor.WithDeadline(context.Background(), b.executor.Now().Add(20*h.WaitTimeout))
	b.others = executor.NewGroup(b.executor)
	return b
}

// clear removes the case's pods. Whether that works is for the cases to say. A
// runtime that has blocked a call is asked for nothing more.
func (b *bench) clear() {
	b.cancel()
	b.others.Wait()
	if b.rt.trouble() != "" {
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

// is ends the case if an error is not the one that was promised.
func (b *bench) is(err, want error, what string) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Failf("%s: error is %v, promised is %v", what, err, want)
	}
}

// nothingBlocked ends the case if a call was blocked and the case did not mind.
func (b *bench) nothingBlocked() {
	b.Helper()
	if trouble := b.rt.trouble(); trouble != "" {
		b.Failf("%s", trouble)
	}
}

// until waits for what must come.
func (b *bench) until(what string, f func() bool) {
	b.Helper()
	deadline := b.executor.Now().Add(b.h.WaitTimeout)
	for !f() {
		if b.executor.Now().After(deadline) {
			b.Failf("waited %s in vain: %s", b.h.WaitTimeout, what)
		}
		b.sleep(50 * time.Millisecond)
	}
}

func (b *bench) sleep(d time.Duration) {
	b.Helper()
	b.Must(b.executor.Sleep(b.ctx, d), "waiting")
}

// pod invents a pod and takes on its removal.
func (b *bench) pod() runtime.PodRef {
	n := len(b.pods)
	uid := types.UID(fmt.Sprintf("%s-%d-%d", b.name, b.executor.Now().UnixNano(), n))
	b.pods = append(b.pods, uid)
	return runtime.PodRef{UID: uid, Name: fmt.Sprintf("%s-%d", b.name, n), Namespace: "runtimetest", Incarnation: 7}
}

// image makes the harness's image present.
func (b *bench) image() string {
	b.Helper()
	ref, err := b.rt.PullImage(b.ctx, runtime.PullImageRequest{Image: b.h.Image})
	b.Must(err, "PullImage")
	return ref
}

func (b *bench) sandboxRequest(ref runtime.PodRef, attempt uint32) runtime.RunSandboxRequest {
	return runtime.RunSandboxRequest{
		Pod: ref, Attempt: attempt, Hostname: "runtimetest", LogDir: b.h.LogDir,
		Annotations: map[string]string{"runtimetest.podkeel.dev/sandbox": "yes"},
	}
}

func (b *bench) sandbox(ref runtime.PodRef, attempt uint32) string {
	b.Helper()
	id, err := b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, attempt))
	b.Must(err, "RunSandbox")
	return id
}

func (b *bench) containerRequest(ref runtime.PodRef, sandbox, name string, attempt uint32, command []string) runtime.CreateContainerRequest {
	b.Helper()
	path := ""
	if b.h.LogDir != "" {
		path = logPath(ref, name, attempt)
	}
	return runtime.CreateContainerRequest{
		Pod: ref, SandboxID: sandbox, Name: name, Attempt: attempt,
		Image: b.h.Image, ImageRef: b.image(), Command: command, LogPath: path,
		Annotations: map[string]string{"runtimetest.podkeel.dev/container": name},
	}
}

// logPath is where the log of a container is, below the harness's LogDir.
func logPath(ref runtime.PodRef, name string, attempt uint32) string {
	return fmt.Sprintf("%s_%s_%d.log", ref.UID, name, attempt)
}

func (b *bench) create(ref runtime.PodRef, sandbox, name string, attempt uint32, command []string) string {
	b.Helper()
	id, err := b.rt.CreateContainer(b.ctx, b.containerRequest(ref, sandbox, name, attempt, command))
	b.Must(err, "CreateContainer")
	return id
}

func (b *bench) start(id string) {
	b.Helper()
	b.Must(b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: id}), "StartContainer")
}

// run is a container that runs, in a new pod.
func (b *bench) run(command []string) (ref runtime.PodRef, sandbox, id string) {
	b.Helper()
	ref = b.pod()
	sandbox = b.sandbox(ref, 0)
	id = b.create(ref, sandbox, "main", 0, command)
	b.start(id)
	return ref, sandbox, id
}

func (b *bench) stop(id string, grace time.Duration) error {
	return b.rt.StopContainer(b.ctx, runtime.StopContainerRequest{ContainerID: id, Grace: grace})
}

func (b *bench) stopSandbox(id string) error {
	return b.rt.StopSandbox(b.ctx, runtime.StopSandboxRequest{SandboxID: id})
}

func (b *bench) removeSandbox(id string) error {
	return b.rt.RemoveSandbox(b.ctx, runtime.RemoveSandboxRequest{SandboxID: id})
}

func (b *bench) remove(id string) error {
	return b.rt.RemoveContainer(b.ctx, runtime.RemoveContainerRequest{ContainerID: id})
}

func (b *bench) removeUnstarted(id string) error {
	return b.rt.RemoveContainer(b.ctx, runtime.RemoveContainerRequest{ContainerID: id, NeverRan: true})
}

func (b *bench) status(ref runtime.PodRef) *runtime.PodStatus {
	b.Helper()
	st, err := b.rt.PodStatus(b.ctx, ref.UID)
	b.Must(err, "PodStatus")
	b.Check(st != nil, "PodStatus returned neither a status nor an error")
	return st
}

// container is the record of a container, which must exist.
func (b *bench) container(ref runtime.PodRef, id string) runtime.ContainerStatus {
	b.Helper()
	for _, c := range b.status(ref).Containers {
		if c.ID == id {
			return c
		}
	}
	b.Failf("PodStatus has no record of container %s", id)
	return runtime.ContainerStatus{}
}

// place is the record of a sandbox, which must exist.
func (b *bench) place(ref runtime.PodRef, id string) runtime.SandboxStatus {
	b.Helper()
	for _, s := range b.status(ref).Sandboxes {
		if s.ID == id {
			return s
		}
	}
	b.Failf("PodStatus has no record of sandbox %s", id)
	return runtime.SandboxStatus{}
}

// exited waits until a container has ended, and returns its record.
func (b *bench) exited(ref runtime.PodRef, id string) runtime.ContainerStatus {
	b.Helper()
	b.until("the container ends", func() bool { return b.container(ref, id).State == runtime.StateExited })
	return b.container(ref, id)
}

// listed finds a pod in the list.
func (b *bench) listed(ref runtime.PodRef) (runtime.Pod, bool) {
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
