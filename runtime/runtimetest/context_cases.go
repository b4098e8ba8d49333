package runtimetest

import (
	"context"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var contextCases = []Case{
	{"context/ended", "every method returns soon if its context has ended", checkEndedContext},
	{"context/no-short-answer", "with an ended context ListPods and PodStatus return a complete result or an error", checkNoPartialResult},
	{"context/ends-a-stop", "StopContainer returns when its context ends during the grace period", checkStopEndsWithContext},
}

func checkEndedContext(b *bench) {
	ref, sandbox, id := b.runContainer(b.h.IgnoreTerm)
	create := b.containerRequest(ref, sandbox, "other", 0, b.h.Forever)
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	for _, call := range []struct {
		method string
		do     func()
	}{
		{"ListPods", func() { _, _ = b.rt.ListPods(ctx) }},
		{"PodStatus", func() { _, _ = b.rt.PodStatus(ctx, ref.UID) }},
		{"RunSandbox", func() { _, _ = b.rt.RunSandbox(ctx, b.sandboxRequest(ref, 1)) }},
		{"CreateContainer", func() { _, _ = b.rt.CreateContainer(ctx, create) }},
		{"StartContainer", func() { _ = b.rt.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id}) }},
		{"StopContainer", func() {
			_ = b.rt.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: id, Grace: time.Hour})
		}},
		{"RemoveContainer", func() { _ = b.rt.RemoveContainer(ctx, runtime.RemoveContainerRequest{ContainerID: id}) }},
		{"PullImage", func() { _, _ = b.rt.PullImage(ctx, runtime.PullImageRequest{Image: b.h.Image}) }},
		{"ImageStatus", func() { _, _ = b.rt.ImageStatus(ctx, runtime.ImageStatusRequest{Image: b.h.Image}) }},
		{"ListImages", func() { _, _ = b.rt.ListImages(ctx) }},
		{"RemoveImage", func() { _ = b.rt.RemoveImage(ctx, runtime.RemoveImageRequest{Image: b.h.MissingImage}) }},
		{"StopSandbox", func() { _ = b.rt.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: sandbox}) }},
		{"RemoveSandbox", func() { _ = b.rt.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: sandbox}) }},
	} {
		took := b.measureDuration(call.do)
		b.Check(took <= b.h.Slack, "%s with an ended context took %s", call.method, took)
	}
}

func checkNoPartialResult(b *bench) {
	ref, sandbox, id := b.runContainer(b.h.Forever)
	b.waitFor("the pod is listed", func() bool { _, ok := b.findListedPod(ref); return ok })
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if list, err := b.rt.ListPods(ctx); err == nil {
		found := false
		for _, p := range list {
			found = found || p.UID == ref.UID
		}
		b.Check(found, "ListPods with an ended context returned no error and omitted a pod")
	}
	if st, err := b.rt.PodStatus(ctx, ref.UID); err == nil {
		b.Check(len(st.Sandboxes) == 1 && st.Sandboxes[0].ID == sandbox && len(st.Containers) == 1 && st.Containers[0].ID == id,
			"PodStatus with an ended context returned no error and omitted records: %+v", st)
	}
}

func checkStopEndsWithContext(b *bench) {
	ref, _, id := b.runIgnoreTermUntilReady()
	ctx, cancel := b.executor.WithDeadline(b.ctx, b.executor.Now().Add(time.Second))
	defer cancel()
	var err error
	took := b.measureDuration(func() {
		err = b.rt.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: id, Grace: 5 * time.Minute})
	})
	b.Check(took <= time.Second+b.h.Slack, "the call returned after %s although its context ended after 1s", took)
	if err == nil {
		b.Check(b.containerStatus(ref, id).State == runtime.StateExited, "StopContainer returned nil while the container runs")
		return
	}
	b.Must(b.stopContainer(id, 0), "a second StopContainer with grace 0")
	b.requireKilled(ref, id)
}
