package runtimetest_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	rt "github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/runtimetest"
)

// late is how long after its start a container of a peculiar runtime has set its traps.
const late = 9 * time.Second

// signal is what becomes of a container that is sent TERM before it has set its
// traps.
type signal int

const (
	lost  signal = iota // as by the first process of a PID namespace
	kills               // as of any other process
)

// peculiar makes a runtime slow in everything that may be slow: it is correct
// all the same. Called in a bubble.
func peculiar(r *tampered, early signal) {
	started := map[string]time.Time{}
	ready := func(id string) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		at, ok := started[id]
		return ok && time.Since(at) >= late
	}
	r.runSandbox = func(ctx context.Context, req rt.RunSandboxRequest) (string, error) {
		time.Sleep(3 * time.Second)
		return r.m.RunSandbox(ctx, req)
	}
	r.startContainer = func(ctx context.Context, req rt.StartContainerRequest) error {
		time.Sleep(2 * time.Second)
		r.mu.Lock()
		if started[req.ContainerID].IsZero() {
			started[req.ContainerID] = time.Now()
		}
		r.mu.Unlock()
		return r.m.StartContainer(ctx, req)
	}
	r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
		_, c, _ := r.find(req.ContainerID)
		switch {
		case req.Grace == 0 || c.State != rt.StateRunning || ready(req.ContainerID):
		case early == kills:
			// Another call may have ended it meanwhile.
			if err := r.m.ExitContainer(req.ContainerID, 143); !errors.Is(err, rt.ErrWrongState) {
				return err
			}
		default:
			if err := signalLost(ctx, r, req); err != nil {
				return err
			}
			req.Grace = 0
		}
		return r.m.StopContainer(ctx, req)
	}
	r.readLog = func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
		if req.Follow || ready(req.ContainerID) {
			return r.m.ReadLog(ctx, req, w)
		}
		var all strings.Builder
		err := r.m.ReadLog(ctx, req, &all)
		_, _ = io.WriteString(w, strings.ReplaceAll(all.String(), "ready\n", ""))
		return err
	}
	r.exec = func(ctx context.Context, req rt.ExecRequest) (rt.ExecResult, error) {
		res, err := r.m.Exec(ctx, req)
		if slices.Equal(req.Command, []string{"test", "-e", "/tmp/ready"}) && !ready(req.ContainerID) {
			res.ExitCode = 1
		}
		return res, err
	}
	r.events = func(ctx context.Context, sink func(rt.Event)) error {
		select {
		case <-time.After(4 * time.Second): // What happens before is not told.
			return r.m.Events(ctx, sink)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	lagging(r)
}

// signalLost sends no signal, and waits for the exit of the container for as long as the grace
// period. Called in a bubble.
func signalLost(ctx context.Context, r *tampered, req rt.StopContainerRequest) error {
	by := time.Now().Add(req.Grace)
	for time.Now().Before(by) {
		if _, c, _ := r.find(req.ContainerID); c.State == rt.StateExited {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// lagging returns lists that are up to two seconds old.
func lagging(r *tampered) {
	var at time.Time
	var list []rt.Pod
	r.listPods = func(ctx context.Context) ([]rt.Pod, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if time.Since(at) < 2*time.Second {
			return list, ctx.Err()
		}
		newest, err := r.m.ListPods(ctx)
		if err == nil {
			list, at = newest, time.Now()
		}
		return newest, err
	}
}

// featureless are runtimes with less and less features.
var featureless = map[string]func(*tampered) rt.Runtime{
	"with logs":             func(r *tampered) rt.Runtime { return r },
	"without logs":          func(r *tampered) rt.Runtime { return execs{r, r} },
	"without logs and exec": func(r *tampered) rt.Runtime { return struct{ rt.Runtime }{r} },
}

// execs is a runtime that can do nothing besides but run commands.
type execs struct {
	rt.Runtime
	execer rt.Execer
}

func (e execs) Features() rt.Features {
	return rt.Features{Execer: e.execer, ImageMounts: rt.FeaturesOf(e.Runtime).ImageMounts}
}

// A correct runtime passes, however slow it is, and whether or not a container can confirm its
// traps.
func TestCases_PassOnASlowRuntime(t *testing.T) {
	for name, features := range featureless {
		for _, early := range []signal{lost, kills} {
			for _, c := range runtimetest.Cases() {
				rec := verdict(t, c, func(r *tampered) runtimetest.Harness {
					peculiar(r, early)
					h := reopening(r)
					h.Runtime, h.Slack = features(r), 0
					h.Reopen = func(meanwhile func()) (rt.Runtime, error) {
						meanwhile()
						return features(r), nil
					}
					return h
				}, nil)
				assert.False(t, rec.failed, "%s, signal %d, %s: %s", name, early, c.Name, rec.said)
			}
		}
	}
}

// With custom commands, Harness.Ready confirms the traps.
func TestReady_IsAskedUntilItIsSo(t *testing.T) {
	asked := 0
	rec := verdict(t, caseNamed("stop/term"), func(r *tampered) runtimetest.Harness {
		peculiar(r, kills)
		h := harness(r)
		h.Runtime, h.Slack = struct{ rt.Runtime }{r}, 0
		h.Forever = []string{"forever"}
		began := time.Now()
		h.Ready = func(context.Context, string) (bool, error) {
			asked++
			return time.Since(began) > time.Minute/2, nil
		}
		return h
	}, nil)
	assert.False(t, rec.failed, rec.said)
	assert.Greater(t, asked, 100)
}

func TestReady_ItsErrorFailsTheCase(t *testing.T) {
	rec := verdict(t, caseNamed("stop/term"), func(r *tampered) runtimetest.Harness {
		h := harness(r)
		h.Ready = func(context.Context, string) (bool, error) { return false, errOther }
		return h
	}, nil)
	assert.Equal(t, "waiting for the container: "+errOther.Error()+"\npromise: "+caseNamed("stop/term").Promise, rec.said)
}

func caseNamed(name string) runtimetest.Case {
	i := slices.IndexFunc(runtimetest.Cases(), func(c runtimetest.Case) bool { return c.Name == name })
	return runtimetest.Cases()[i]
}

// A blocked call fails its case after half a minute. The failure names the call, its request and
// its time, whichever goroutine made it.
func TestWatch_NamesTheCallThatIsBlocked(t *testing.T) {
	for _, row := range []struct {
		name, said string
		tamper     func(r *tampered, blocked chan struct{})
	}{
		{"container/start", "StartContainer: runtimetest: StartContainer({ContainerID:ID}) is blocked: it was called at 00:00:00.000 and has not returned after 30s", func(r *tampered, blocked chan struct{}) {
			r.startContainer = func(context.Context, rt.StartContainerRequest) error { <-blocked; return nil }
		}},
		{"status/unknown", "PodStatus: runtimetest: PodStatus(UID) is blocked: it was called at 00:00:00.000 and has not returned after 30s", func(r *tampered, blocked chan struct{}) {
			r.podStatus = func(context.Context, types.UID) (*rt.PodStatus, error) { <-blocked; return nil, errOther }
		}},
		{"image/pull", "PullImage: runtimetest: PullImage({Image:busybox Pod:{UID: Name: Namespace: Incarnation:0} Container: Volume: Auth:<nil>}) is blocked: it was called at 00:00:00.000 and has not returned after 5m0s", func(r *tampered, blocked chan struct{}) {
			r.pullImage = func(context.Context, rt.PullImageRequest) (string, error) { <-blocked; return "", errOther }
		}},
		{"concurrency/stop", "a concurrent stop: runtimetest: StopSandbox({SandboxID:ID}) is blocked: it was called at 00:00:01.000 and has not returned after 30s", func(r *tampered, blocked chan struct{}) {
			r.stopSandbox = func(context.Context, rt.StopSandboxRequest) error { <-blocked; return nil }
		}},
		{"context/ended", "ListImages with an ended context took 30s\nruntimetest: ListImages() is blocked: it was called at 00:00:00.000 and has not returned after 30s", func(r *tampered, blocked chan struct{}) {
			r.listImages = func(context.Context) ([]rt.Image, error) { <-blocked; return nil, nil }
		}},
		{"log/follow-context", "runtimetest: ReadLog({ContainerID:ID}) is blocked: it was called at 00:00:00.000 and has not returned after 31s", func(r *tampered, blocked chan struct{}) {
			r.readLog = func(context.Context, rt.ReadLogRequest, io.Writer) error { <-blocked; return nil }
		}},
	} {
		rec := verdict(t, caseNamed(row.name), func(r *tampered) runtimetest.Harness {
			blocked := make(chan struct{})
			time.AfterFunc(time.Hour, func() { close(blocked) })
			row.tamper(r, blocked)
			return harness(r)
		}, nil)
		assert.True(t, strings.HasPrefix(anonymous(rec.said), row.said+"\n"), "%s: %s", row.name, rec.said)
		assert.True(t, strings.HasSuffix(rec.said, "\npromise: "+caseNamed(row.name).Promise), rec.said)
	}
}

// anonymous is a message without the IDs and UIDs of one run.
func anonymous(said string) string {
	for _, mark := range []string{"ContainerID:", "SandboxID:"} {
		if head, tail, ok := strings.Cut(said, mark); ok {
			_, rest, _ := strings.Cut(tail, "}")
			said = head + mark + "ID}" + rest
		}
	}
	if head, tail, ok := strings.Cut(said, "PodStatus("); ok {
		_, rest, _ := strings.Cut(tail, ")")
		said = head + "PodStatus(UID)" + rest
	}
	return said
}

// A call that panics fails its case, and no other.
func TestWatch_NamesTheCallThatPanics(t *testing.T) {
	rec := verdict(t, caseNamed("container/start"), func(r *tampered) runtimetest.Harness {
		r.startContainer = func(context.Context, rt.StartContainerRequest) error { panic("boom") }
		return harness(r)
	}, nil)
	assert.True(t, rec.failed)
	assert.Contains(t, rec.said, "StartContainer({ContainerID:")
	assert.Contains(t, rec.said, "panicked: boom")
	assert.Contains(t, rec.said, "peculiar_test.go") // The stack.
}
