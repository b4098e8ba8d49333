package runtimetest

import (
	"maps"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var handlerCases = []Case{
	{"answer/running", "RunHandler of a running container succeeds for every purpose", checkHandlersRun},
	{"answer/refuses", "a failed probe is a result, not an error", checkHandlerFailureIsResult},
	{"answer/context", "RunHandler returns when its context ends, and other calls do not wait for it", checkHandlerStopsWithContext},
	{"answer/unknown", "RunHandler of an unknown container is ErrNotFound", checkHandlerOfUnknownContainer},
	{"answer/not-running", "RunHandler of a container that does not run is ErrWrongState", checkHandlerOfStoppedContainer},
}

// handlerRunnerOrSkip returns the runtime's HandlerRunner. If the runtime has none, it skips the case and
// returns false.
func handlerRunnerOrSkip(b *bench) (runner runtime.HandlerRunner, present bool) {
	return roleOrSkip(b, b.features().HandlerRunner, "HandlerRunner")
}

func checkHandlersRun(b *bench) {
	a, ok := handlerRunnerOrSkip(b)
	if !ok {
		return
	}
	_, _, id := b.runContainer(b.h.Forever)
	for _, purpose := range []runtime.Purpose{
		runtime.StartupProbe, runtime.LivenessProbe, runtime.ReadinessProbe, runtime.PostStartHook, runtime.PreStopHook,
	} {
		_, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: purpose})
		b.Must(err, "RunHandler for "+string(purpose))
	}
}

// startContainerWithAnswersOrSkip starts a container in a new pod with the annotations
// Harness.HandlerAnnotations, which define the results of its probes. If they are nil, it skips the case and
// returns false.
func (b *bench) startContainerWithAnswersOrSkip() (id string, ok bool) {
	b.Helper()
	if b.h.HandlerAnnotations == nil {
		b.Skipf("Harness.HandlerAnnotations is nil")
		return "", false
	}
	ref := b.newPodToCleanUp()
	req := b.containerRequest(ref, b.runSandbox(ref, 0), "main", 0, b.h.Forever)
	maps.Copy(req.Annotations, b.h.HandlerAnnotations)
	id, err := b.rt.CreateContainer(b.ctx, req)
	b.Must(err, "CreateContainer")
	b.startContainer(id)
	return id, true
}

func checkHandlerFailureIsResult(b *bench) {
	a, ok := handlerRunnerOrSkip(b)
	if !ok {
		return
	}
	id, ok := b.startContainerWithAnswersOrSkip()
	if !ok {
		return
	}
	for range 2 {
		res, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.LivenessProbe})
		b.Must(err, "RunHandler")
		b.Check(!res.OK, "the liveness probe must fail; the result is %+v", res)
	}
	res, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.StartupProbe})
	b.Must(err, "RunHandler")
	b.Check(res.OK, "the startup probe must succeed; the result is %+v", res)
}

func checkHandlerStopsWithContext(b *bench) {
	a, ok := handlerRunnerOrSkip(b)
	if !ok {
		return
	}
	id, ok := b.startContainerWithAnswersOrSkip()
	if !ok {
		return
	}
	ctx, cancel := b.executor.WithDeadline(b.ctx, b.executor.Now().Add(2*time.Second))
	defer cancel()
	silent := b.executor.NewLatch()
	var err error
	began := b.executor.Now()
	var took time.Duration
	b.background.Go(func() {
		_, err = a.RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.ReadinessProbe})
		took = b.executor.Now().Sub(began)
		silent.Open()
	})
	b.sleep(500 * time.Millisecond)
	meanwhile := b.measureDuration(func() {
		_, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.StartupProbe})
		b.Must(err, "RunHandler while another call waits")
	})
	b.Check(meanwhile <= b.h.Slack, "a second RunHandler took %s while the first was waiting", meanwhile)
	b.waitFor("RunHandler returns", silent.Opened)
	b.Check(err != nil, "RunHandler returned no error although the handler never answered")
	b.Check(took <= 2*time.Second+b.h.Slack, "RunHandler returned after %s although its context ended after 2s", took)
}

func checkHandlerOfUnknownContainer(b *bench) {
	a, ok := handlerRunnerOrSkip(b)
	if !ok {
		return
	}
	_, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: b.name + "-no-such-container", Purpose: runtime.LivenessProbe})
	b.requireErrorIs(err, runtime.ErrNotFound, "RunHandler")
}

func checkHandlerOfStoppedContainer(b *bench) {
	a, ok := handlerRunnerOrSkip(b)
	if !ok {
		return
	}
	b.forEachStoppedContainer(func(id, state string) {
		b.Helper()
		_, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.LivenessProbe})
		b.requireErrorIs(err, runtime.ErrWrongState, "RunHandler of a container that "+state)
	})
}
