package runtimetest

import (
	"maps"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var answerCases = []Case{
	{"answer/running", "a running container can be asked for every purpose", answerRunning},
	{"answer/refuses", "a container that refuses is a result, not an error", answerRefuses},
	{"answer/context", "the end of the context ends the wait for an answer, for which nobody else waits", answerContext},
	{"answer/unknown", "asking an unknown container is ErrNotFound", answerUnknown},
	{"answer/not-running", "asking a container that does not run is ErrWrongState", answerNotRunning},
}

func handlerRunner(b *bench) (runtime.HandlerRunner, bool) {
	return feature(b, b.features().HandlerRunner, "HandlerRunner")
}

func answerRunning(b *bench) {
	a, ok := handlerRunner(b)
	if !ok {
		return
	}
	_, _, id := b.run(b.h.Forever)
	for _, purpose := range []runtime.Purpose{
		runtime.StartupProbe, runtime.LivenessProbe, runtime.ReadinessProbe, runtime.PostStartHook, runtime.PreStopHook,
	} {
		_, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: purpose})
		b.Must(err, "RunHandler to "+string(purpose))
	}
}

// answers is a container that answers as the harness has it, or skips the case.
func (b *bench) answers() (id string, ok bool) {
	b.Helper()
	if b.h.Answers == nil {
		b.Skipf("the harness does not say how a container is made to refuse")
		return "", false
	}
	ref := b.pod()
	req := b.containerRequest(ref, b.sandbox(ref, 0), "main", 0, b.h.Forever)
	maps.Copy(req.Annotations, b.h.Answers)
	id, err := b.rt.CreateContainer(b.ctx, req)
	b.Must(err, "CreateContainer")
	b.start(id)
	return id, true
}

func answerRefuses(b *bench) {
	a, ok := handlerRunner(b)
	if !ok {
		return
	}
	id, ok := b.answers()
	if !ok {
		return
	}
	for range 2 {
		res, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.LivenessProbe})
		b.Must(err, "RunHandler")
		b.Check(!res.OK, "the answer to liveness is %+v", res)
	}
	res, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.StartupProbe})
	b.Must(err, "RunHandler")
	b.Check(res.OK, "the answer to startup is %+v", res)
}

func answerContext(b *bench) {
	a, ok := handlerRunner(b)
	if !ok {
		return
	}
	id, ok := b.answers()
	if !ok {
		return
	}
	ctx, cancel := b.executor.WithDeadline(b.ctx, b.executor.Now().Add(2*time.Second))
	defer cancel()
	silent := b.executor.NewLatch()
	var err error
	began := b.executor.Now()
	var took time.Duration
	b.others.Go(func() {
		_, err = a.RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.ReadinessProbe})
		took = b.executor.Now().Sub(began)
		silent.Open()
	})
	b.sleep(500 * time.Millisecond)
	meanwhile := b.timed(func() {
		_, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.StartupProbe})
		b.Must(err, "RunHandler while another is waited for")
	})
	b.Check(meanwhile <= b.h.Slack, "it took %s", meanwhile)
	b.until("RunHandler returns", silent.Opened)
	b.Check(err != nil, "what was not answered is a result")
	b.Check(took <= 2*time.Second+b.h.Slack, "it returned after %s, its context had ended after two seconds", took)
}

func answerUnknown(b *bench) {
	a, ok := handlerRunner(b)
	if !ok {
		return
	}
	_, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: b.name + "-no-such-container", Purpose: runtime.LivenessProbe})
	b.is(err, runtime.ErrNotFound, "RunHandler")
}

func answerNotRunning(b *bench) {
	a, ok := handlerRunner(b)
	if !ok {
		return
	}
	b.notRunning(func(id, state string) {
		b.Helper()
		_, err := a.RunHandler(b.ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.LivenessProbe})
		b.is(err, runtime.ErrWrongState, "RunHandler of a container that "+state)
	})
}
