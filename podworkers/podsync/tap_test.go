package podsync_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// tap writes down every call of a runtime, with readable names for IDs.
type tap struct {
	runtime.Runtime
	now   func() time.Time
	write func(line string)
	names map[string]string // by ID
	calls []tapped
	joins bool // a container may see the processes of another one
	// requests has the newest request of each kind.
	sandbox   runtime.RunSandboxRequest
	container runtime.CreateContainerRequest
}

// tapped is a call that has returned.
type tapped struct {
	verb, what   string
	began, ended time.Time
}

// Features implements runtime.FeatureReporter.
func (t *tap) Features() runtime.Features { return runtime.Features{StatusReporter: t} }

func (t *tap) recordCall(verb, what string, f func() error) error {
	began := t.now()
	err := f()
	t.calls = append(t.calls, tapped{verb, what, began, t.now()})
	line := verb
	if what != "" {
		line += " " + what
	}
	if took := t.now().Sub(began); took > 0 {
		line += fmt.Sprintf(" (%s)", took)
	}
	if err != nil {
		line += " -> " + t.replaceIDs(err.Error())
	}
	t.write(line)
	return err
}

// replaceIDs replaces IDs by names.
func (t *tap) replaceIDs(text string) string {
	for id, name := range t.names {
		text = strings.ReplaceAll(text, id, name)
	}
	return text
}

// nameRecords names the sandboxes and containers whose creation returned no reply.
func (t *tap) nameRecords(st *runtime.PodStatus) {
	if st == nil {
		return
	}
	for _, s := range st.Sandboxes {
		t.names[s.ID] = fmt.Sprintf("sandbox/%d", s.Attempt)
	}
	for _, c := range st.Containers {
		t.names[c.ID] = fmt.Sprintf("%s/%d", c.Name, c.Attempt)
	}
}

func (t *tap) PodStatus(ctx context.Context, uid types.UID) (st *runtime.PodStatus, err error) {
	err = t.recordCall("PodStatus", "", func() error { st, err = t.Runtime.PodStatus(ctx, uid); return err })
	t.nameRecords(st)
	return st, err
}

func (t *tap) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (id string, err error) {
	t.sandbox = req
	name := fmt.Sprintf("sandbox/%d", req.Attempt)
	err = t.recordCall("RunSandbox", fmt.Sprintf("%s incarnation=%d", name, req.Pod.Incarnation), func() error {
		id, err = t.Runtime.RunSandbox(ctx, req)
		return err
	})
	if err == nil {
		t.names[id] = name
	}
	return id, err
}

func (t *tap) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	return t.recordCall("StopSandbox", t.names[req.SandboxID], func() error { return t.Runtime.StopSandbox(ctx, req) })
}

func (t *tap) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	return t.recordCall("RemoveSandbox", t.names[req.SandboxID], func() error { return t.Runtime.RemoveSandbox(ctx, req) })
}

func (t *tap) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (id string, err error) {
	t.container = req
	name := fmt.Sprintf("%s/%d", req.Name, req.Attempt)
	what := name + " in " + t.names[req.SandboxID]
	if req.PIDTarget != "" {
		what += " sees " + t.names[req.PIDTarget]
	}
	if t.joins {
		req.PIDTarget = ""
	}
	err = t.recordCall("CreateContainer", what, func() error {
		id, err = t.Runtime.CreateContainer(ctx, req)
		return err
	})
	if err == nil {
		t.names[id] = name
	}
	return id, err
}

func (t *tap) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	return t.recordCall("StartContainer", t.names[req.ContainerID], func() error { return t.Runtime.StartContainer(ctx, req) })
}

func (t *tap) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	return t.recordCall("StopContainer", fmt.Sprintf("%s grace=%s", t.names[req.ContainerID], req.Grace), func() error {
		return t.Runtime.StopContainer(ctx, req)
	})
}

func (t *tap) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	return t.recordCall("RemoveContainer", t.names[req.ContainerID], func() error { return t.Runtime.RemoveContainer(ctx, req) })
}

func (t *tap) PullImage(ctx context.Context, req runtime.PullImageRequest) (ref string, err error) {
	err = t.recordCall("PullImage", req.Image, func() error { ref, err = t.Runtime.PullImage(ctx, req); return err })
	return ref, err
}

func (t *tap) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (image runtime.Image, err error) {
	err = t.recordCall("ImageStatus", req.Image, func() error { image, err = t.Runtime.ImageStatus(ctx, req); return err })
	return image, err
}

func (t *tap) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return runtime.FeaturesOf(t.Runtime).StatusReporter.RuntimeStatus(ctx)
}

// simulation runs calls of one process to their end, in virtual time.
type simulation struct {
	s *executor.Scheduler
	p *executor.Process
}

// runCall calls f in the process and lets time pass until it has returned, or
// until something that is due at a time given by at has been done.
func (b *simulation) runCall(f func(), at ...due) (hangs bool) {
	done := false
	b.p.Go(func() {
		f()
		done = true
	})
	for {
		b.s.RunUntilIdle()
		if done {
			return false
		}
		next, ok := b.s.NextTimer()
		if len(at) > 0 && (!ok || !next.Before(at[0].t)) {
			b.s.AdvanceTo(at[0].t)
			at[0].do()
			at = at[1:]
			continue
		}
		if !ok {
			return true
		}
		b.s.AdvanceTo(next)
	}
}

// due is something to be done at a time.
type due struct {
	t  time.Time
	do func()
}
