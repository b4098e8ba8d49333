package runtimetest

import (
	"context"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var contextCases = []Case{
	{"context/ended", "with an ended context every verb returns soon", contextEnded},
	{"context/no-short-answer", "with an ended context an answer is whole or an error", contextNoShortAnswer},
	{"context/ends-a-stop", "the end of the context ends the wait for a grace", contextEndsAStop},
}

func contextEnded(b *bench) {
	ref, sandbox, id := b.run(b.h.IgnoreTerm)
	create := b.containerRequest(ref, sandbox, "other", 0, b.h.Forever)
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	for _, call := range []struct {
		verb string
		do   func()
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
		took := b.timed(call.do)
		b.Check(took <= b.h.Slack, "%s took %s with an ended context", call.verb, took)
	}
}

func contextNoShortAnswer(b *bench) {
	ref, sandbox, id := b.run(b.h.Forever)
	b.until("the pod is listed", func() bool { _, ok := b.listed(ref); return ok })
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if list, err := b.rt.ListPods(ctx); err == nil {
		found := false
		for _, p := range list {
			found = found || p.UID == ref.UID
		}
		b.Check(found, "ListPods left a pod out instead of failing")
	}
	if st, err := b.rt.PodStatus(ctx, ref.UID); err == nil {
		b.Check(len(st.Sandboxes) == 1 && st.Sandboxes[0].ID == sandbox && len(st.Containers) == 1 && st.Containers[0].ID == id,
			"PodStatus left records out instead of failing: %+v", st)
	}
}

func contextEndsAStop(b *bench) {
	ref, _, id := b.runDeaf()
	ctx, cancel := b.executor.WithDeadline(b.ctx, b.executor.Now().Add(time.Second))
	defer cancel()
	var err error
	took := b.timed(func() {
		err = b.rt.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: id, Grace: 5 * time.Minute})
	})
	b.Check(took <= time.Second+b.h.Slack, "it returned after %s, its context had ended after one second", took)
	if err == nil {
		b.Check(b.container(ref, id).State == runtime.StateExited, "StopContainer returned nil although the container runs")
		return
	}
	b.Must(b.stop(id, 0), "a second StopContainer without a grace")
	b.killed(ref, id)
}
