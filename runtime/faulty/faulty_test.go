package faulty_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/runtime/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a machine, rules in front of it, and what they hit.
type bed struct {
	t       *testing.T
	machine *memory.Runtime
	faults  *faulty.Faults
	rt      runtime.Runtime
	hits    []faulty.Hit
}

func newBed(t *testing.T, rules ...faulty.Rule) *bed {
	b := &bed{t: t, machine: memory.New(memory.Config{Images: []string{"busybox"}})}
	var err error
	b.faults, err = faulty.New(faulty.Config{Rules: rules, Hooks: faulty.Hooks{
		Hit: func(h faulty.Hit) { b.hits = append(b.hits, h) },
	}})
	require.NoError(t, err)
	b.rt = b.faults.Wrap(b.machine, nil)
	return b
}

func ref(name string) runtime.PodRef {
	return runtime.PodRef{UID: types.UID("uid-" + name), Name: name, Namespace: "default"}
}

// runs makes a pod with a running container on a runtime.
func (b *bed) runs(rt runtime.Runtime, pod, container string) (sandbox, id string) {
	b.t.Helper()
	sandbox, err := rt.RunSandbox(b.t.Context(), runtime.RunSandboxRequest{Pod: ref(pod)})
	require.NoError(b.t, err)
	id, err = rt.CreateContainer(b.t.Context(), runtime.CreateContainerRequest{Pod: ref(pod), SandboxID: sandbox, Name: container, Image: "busybox"})
	require.NoError(b.t, err)
	require.NoError(b.t, rt.StartContainer(b.t.Context(), runtime.StartContainerRequest{ContainerID: id}))
	return sandbox, id
}

func (b *bed) state(pod string) runtime.State {
	b.t.Helper()
	st, err := b.machine.PodStatus(b.t.Context(), ref(pod).UID)
	require.NoError(b.t, err)
	require.Len(b.t, st.Containers, 1)
	return st.Containers[0].State
}

func uids(list []runtime.Pod) (out []types.UID) {
	for _, p := range list {
		out = append(out, p.UID)
	}
	return out
}

func TestConformance_WithoutRules(t *testing.T) {
	runtimetest.RunInBubble(t, func(t *testing.T) runtimetest.Harness {
		b := newBed(t)
		b.machine.FailPulls("nowhere.invalid/none", errors.New("no such registry"))
		return runtimetest.Harness{
			Runtime: b.rt, Image: "busybox", MissingImage: "nowhere.invalid/none", Slack: time.Nanosecond,
			Skip: map[string]string{ // The machine is one in memory.
				"container/env": "its containers run nothing", "container/working-dir": "its containers run nothing",
				"stop/signal": "its containers run nothing", "stop/descendants": "its containers run nothing",
			},
			Answers: map[string]string{
				memory.AnnotationPrefix + "main.liveness":  "fail",
				memory.AnnotationPrefix + "main.readiness": "hang",
			},
		}
	})
}

func TestFail_HasNoEffect(t *testing.T) {
	b := newBed(t, faulty.Rule{Verb: faulty.RunSandbox, Times: 1, Do: faulty.Fail, Err: runtime.ErrNotReady})
	_, err := b.rt.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: ref("a")})
	require.ErrorIs(t, err, runtime.ErrNotReady)
	_, err = b.rt.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: ref("a")})
	require.NoError(t, err)
	require.Len(t, b.hits, 1)
	require.Equal(t, ref("a").UID, b.hits[0].UID)
}

func TestFailDone_LosesTheReply(t *testing.T) {
	b := newBed(t, faulty.Rule{Verb: faulty.RunSandbox, Times: 1, Do: faulty.FailDone})
	id, err := b.rt.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: ref("a")})
	require.ErrorIs(t, err, faulty.ErrInjected)
	require.Empty(t, id)
	_, err = b.rt.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: ref("a")})
	require.ErrorIs(t, err, runtime.ErrExists)
}

func TestFailDone_OwnErrorsAreNotReplaced(t *testing.T) {
	b := newBed(t, faulty.Rule{Verb: faulty.StopContainer, Do: faulty.FailDone})
	err := b.rt.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: "none"})
	require.ErrorIs(t, err, runtime.ErrNotFound)
}

func TestHang_EndsWithTheContext(t *testing.T) {
	for _, tc := range []struct {
		do    faulty.Fault
		state runtime.State
	}{{faulty.Hang, runtime.StateRunning}, {faulty.HangDone, runtime.StateExited}} {
		t.Run(tc.do.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, faulty.Rule{Verb: faulty.StopContainer, Pod: "a", Do: tc.do})
				_, id := b.runs(b.rt, "a", "main")
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				err := b.rt.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: id})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, time.Minute, time.Since(began))
				require.Equal(t, tc.state, b.state("a"))
			})
		})
	}
}

func TestHang_EndsWithACrash(t *testing.T) {
	b := newBed(t, faulty.Rule{Verb: faulty.ListPods, Do: faulty.Hang})
	s := executor.NewScheduler(1, time.Unix(0, 0))
	p := s.NewProcess()
	rt := b.faults.Wrap(b.machine, p.Clock())
	var got error
	p.Go(func() { _, got = rt.ListPods(context.Background()) })
	s.RunUntil(s.Now().Add(time.Hour))
	require.NoError(t, got)
	p.Crash()
	require.ErrorIs(t, got, executor.ErrCrashed)
}

func TestLatency_PassesBeforeTheEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, faulty.Rule{Verb: faulty.StartContainer, Latency: 3 * time.Second},
			faulty.Rule{Verb: faulty.ListImages, Latency: 3 * time.Second, Do: faulty.Fail})
		began := time.Now()
		b.runs(b.rt, "a", "main")
		require.Equal(t, 3*time.Second, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.rt.ListImages(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 4*time.Second, time.Since(began))
	})
}

// F58: the word of StopContainer is worth nothing.
func TestLie_F058_StopContainerDoesNothing(t *testing.T) {
	b := newBed(t, faulty.Rule{Verb: faulty.StopContainer, Container: "main", Times: 2, Do: faulty.Lie})
	_, id := b.runs(b.rt, "a", "main")
	for range 2 {
		require.NoError(t, b.rt.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id}))
		require.Equal(t, runtime.StateRunning, b.state("a"))
	}
	require.NoError(t, b.rt.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id}))
	require.Equal(t, runtime.StateExited, b.state("a"))
}

// F60: a running pod is missing from one list.
func TestOmit_F060_ListPods(t *testing.T) {
	b := newBed(t, faulty.Rule{Verb: faulty.ListPods, Pod: "a", Skip: 1, Times: 1, Do: faulty.Omit})
	empty, err := b.rt.ListPods(t.Context())
	require.NoError(t, err)
	require.Empty(t, empty, "an answer with nothing to leave out does not count")
	b.runs(b.rt, "a", "main")
	b.runs(b.rt, "b", "main")
	both, one := []types.UID{ref("a").UID, ref("b").UID}, []types.UID{ref("b").UID}
	for i, want := range [][]types.UID{both, one, both} {
		list, err := b.rt.ListPods(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, uids(list), "list %d", i)
	}
	truth, err := b.machine.ListPods(t.Context())
	require.NoError(t, err)
	require.Equal(t, both, uids(truth), "the runtime's own list was changed")
}

func TestOmit_OneContainer(t *testing.T) {
	b := newBed(t, faulty.Rule{Container: "main", Do: faulty.Omit})
	sandbox, _ := b.runs(b.rt, "a", "main")
	_, err := b.rt.CreateContainer(t.Context(), runtime.CreateContainerRequest{Pod: ref("a"), SandboxID: sandbox, Name: "other", Image: "busybox"})
	require.NoError(t, err)
	list, err := b.rt.ListPods(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Len(t, list[0].Containers, 1)
	require.Equal(t, "other", list[0].Containers[0].Name)
	st, err := b.rt.PodStatus(t.Context(), ref("a").UID)
	require.NoError(t, err)
	require.Len(t, st.Sandboxes, 1)
	require.Len(t, st.Containers, 1)
	require.Equal(t, "other", st.Containers[0].Name)
	truth, err := b.machine.PodStatus(t.Context(), ref("a").UID)
	require.NoError(t, err)
	require.Len(t, truth.Containers, 2)
	require.Equal(t, "main", truth.Containers[0].Name)
	pods, err := b.machine.ListPods(t.Context())
	require.NoError(t, err)
	require.Len(t, pods[0].Containers, 2)
	require.Equal(t, "main", pods[0].Containers[0].Name)
	require.Equal(t, "other", pods[0].Containers[1].Name)
}

func TestOmit_CountsEachAnswerOnce(t *testing.T) {
	b := newBed(t,
		faulty.Rule{Verb: faulty.PodStatus, UID: ref("a").UID, Skip: 1, Times: 1, Do: faulty.Omit},
		faulty.Rule{Verb: faulty.ListPods, Skip: 2, Times: 1, Do: faulty.Omit})
	b.runs(b.rt, "a", "main")
	var got []int
	for range 4 {
		st, err := b.rt.PodStatus(t.Context(), ref("a").UID)
		require.NoError(t, err)
		list, err := b.rt.ListPods(t.Context())
		require.NoError(t, err)
		got = append(got, len(st.Sandboxes), len(list))
	}
	require.Equal(t, []int{1, 1, 0, 1, 1, 0, 1, 1}, got)
}

func TestOmit_AllRulesHold(t *testing.T) {
	b := newBed(t,
		faulty.Rule{Verb: faulty.ListPods, UID: ref("a").UID, Do: faulty.Omit},
		faulty.Rule{Verb: faulty.ListPods, UID: ref("c").UID, Do: faulty.Omit},
		faulty.Rule{Verb: faulty.PodStatus, UID: ref("c").UID, Do: faulty.Omit})
	for _, pod := range []string{"a", "b", "c"} {
		b.runs(b.rt, pod, "main")
	}
	list, err := b.rt.ListPods(t.Context())
	require.NoError(t, err)
	require.Equal(t, []types.UID{ref("b").UID}, uids(list))
	st, err := b.rt.PodStatus(t.Context(), ref("c").UID)
	require.NoError(t, err)
	require.Equal(t, &runtime.PodStatus{UID: ref("c").UID}, st)
}

func TestOmit_Events(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, faulty.Rule{Verb: faulty.Events, UID: ref("a").UID, Skip: 1, Do: faulty.Omit})
		ctx, cancel := context.WithCancel(t.Context())
		seen := map[types.UID]int{}
		done := make(chan error, 1)
		go func() {
			done <- b.rt.(runtime.EventSource).Events(ctx, func(e runtime.Event) { seen[e.UID]++ })
		}()
		synctest.Wait()
		b.runs(b.rt, "a", "main")
		b.runs(b.rt, "b", "main")
		synctest.Wait()
		require.Equal(t, map[types.UID]int{ref("a").UID: 1, ref("b").UID: 3}, seen)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func TestRules_EachCountsForItself(t *testing.T) {
	b := newBed(t,
		faulty.Rule{Verb: faulty.ListPods, Times: 1, Do: faulty.Fail, Err: io.EOF},
		faulty.Rule{Verb: faulty.ListPods, Skip: 1, Times: 2, Do: faulty.Fail, Err: io.ErrShortWrite},
		faulty.Rule{Verb: faulty.ListPods, Skip: 2, Times: 2, Do: faulty.Fail, Err: io.ErrNoProgress},
	)
	for i, want := range []error{io.EOF, io.ErrShortWrite, io.ErrShortWrite, io.ErrNoProgress, nil} {
		_, err := b.rt.ListPods(t.Context())
		require.ErrorIs(t, err, want, "call %d", i+1)
	}
}

func TestRules_FindContainersMadeBeforeThem(t *testing.T) {
	b := newBed(t, faulty.Rule{Verb: faulty.StopContainer, Pod: "a", Container: "main", Do: faulty.Lie})
	_, mine := b.runs(b.machine, "a", "main")
	_, other := b.runs(b.machine, "b", "main")
	require.NoError(t, b.rt.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: mine}))
	require.NoError(t, b.rt.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: other}))
	require.Equal(t, runtime.StateRunning, b.state("a"))
	require.Equal(t, runtime.StateExited, b.state("b"))
}

func TestRules_OutliveAWrapper(t *testing.T) {
	b := newBed(t, faulty.Rule{Verb: faulty.ListPods, Skip: 1, Times: 1, Do: faulty.Fail})
	_, err := b.rt.ListPods(t.Context())
	require.NoError(t, err)
	_, err = b.faults.Wrap(b.machine, nil).ListPods(t.Context())
	require.ErrorIs(t, err, faulty.ErrInjected)
}

func TestRules_AddRemoveClear(t *testing.T) {
	b := newBed(t)
	fails := func() bool { _, err := b.rt.ListImages(t.Context()); return err != nil }
	remove, err := b.faults.Add(faulty.Rule{Verb: faulty.ListImages, Do: faulty.Fail})
	require.NoError(t, err)
	require.True(t, fails())
	remove()
	require.False(t, fails())
	_, err = b.faults.Add(faulty.Rule{Do: faulty.Fail})
	require.NoError(t, err)
	require.True(t, fails())
	b.faults.Clear()
	require.False(t, fails())
}

func TestNew_NamesEveryFault(t *testing.T) {
	_, err := faulty.New(faulty.Config{Rules: []faulty.Rule{
		{Verb: "Start"},
		{Verb: faulty.RunSandbox, Do: faulty.Lie, Skip: -1},
		{Verb: faulty.StopSandbox, Do: faulty.Omit},
		{Verb: faulty.ListPods, UID: "a", Do: faulty.Fail},
		{Verb: faulty.StopSandbox, Do: faulty.Hang, Err: io.EOF},
		{Do: 99},
	}})
	require.Error(t, err)
	for _, want := range []string{
		`there is no verb "Start"`, `cannot be negative`, `"RunSandbox" cannot Lie`, `"StopSandbox" cannot Omit`,
		`ListPods is about no pod`, `Hang returns no Err`, `there is no Fault(99)`,
	} {
		assert.ErrorContains(t, err, want)
	}
}

// bare is a runtime without any feature.
type bare struct{ runtime.Runtime }

// able is one with every feature.
type able struct {
	runtime.Runtime
	runtime.EventSource
	runtime.Execer
	runtime.LogReader
	runtime.StatsReader
	runtime.Updater
	runtime.LogReopener
	runtime.HandlerRunner
}

type (
	source         struct{ err error }
	execer         struct{ err error }
	logger         struct{ err error }
	meter          struct{ err error }
	updater        struct{ err error }
	executorSource struct{ err error }
	runner         struct{ err error }
)

func (p source) Events(context.Context, func(runtime.Event)) error { return p.err }
func (p execer) Exec(context.Context, runtime.ExecRequest) (runtime.ExecResult, error) {
	return runtime.ExecResult{}, p.err
}
func (p logger) ReadLog(context.Context, runtime.ReadLogRequest, io.Writer) error { return p.err }
func (p meter) PodStats(context.Context, types.UID) (runtime.PodStats, error) {
	return runtime.PodStats{}, p.err
}
func (p updater) UpdateContainer(context.Context, runtime.UpdateContainerRequest) error {
	return p.err
}
func (p executorSource) ReopenContainerLog(context.Context, string) error { return p.err }

func (p runner) RunHandler(context.Context, runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	return runtime.RunHandlerResult{OK: true}, p.err
}

// Decisions hang on some features, so a wrapper has them exactly if what it wraps has;
// the others it always has, and finds out by asking.
func TestWrap_HasTheFeaturesOfWhatItWraps(t *testing.T) {
	mine := errors.New("mine")
	inner := memory.New(memory.Config{})
	none := bare{inner}
	e, x, l, s, u, o, a := source{mine}, execer{mine}, logger{mine}, meter{mine}, updater{mine}, executorSource{mine}, runner{mine}
	type wrapped interface {
		runtime.EventSource
		runtime.StatsReader
		runtime.Updater
		runtime.LogReopener
	}
	for _, tc := range []struct {
		name           string
		rt             runtime.Runtime
		exec, log, ask bool
		rest           error // of the others
	}{
		{"bare", none, false, false, false, runtime.ErrUnsupported},
		{"able", able{none, e, x, l, s, u, o, a}, true, true, true, mine},
		{"exec", struct {
			runtime.Runtime
			runtime.Execer
		}{none, x}, true, false, false, runtime.ErrUnsupported},
		{"answers, logs and the rest", struct {
			runtime.Runtime
			runtime.LogReader
			runtime.HandlerRunner
			wrapped
		}{none, l, a, struct {
			source
			meter
			updater
			executorSource
		}{e, s, u, o}}, false, true, true, mine},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rt := newBed(t, faulty.Rule{Verb: faulty.Exec, Do: faulty.Fail}).faults.Wrap(tc.rt, nil)
			exec, isExec := rt.(runtime.Execer)
			log, isLog := rt.(runtime.LogReader)
			ask, isAsk := rt.(runtime.HandlerRunner)
			assert.Equal(t, []bool{tc.exec, tc.log, tc.ask}, []bool{isExec, isLog, isAsk})
			if isExec {
				_, err := exec.Exec(t.Context(), runtime.ExecRequest{})
				assert.ErrorIs(t, err, faulty.ErrInjected)
			}
			if isLog {
				assert.ErrorIs(t, log.ReadLog(t.Context(), runtime.ReadLogRequest{}, io.Discard), mine)
			}
			if isAsk {
				_, err := ask.RunHandler(t.Context(), runtime.RunHandlerRequest{})
				assert.ErrorIs(t, err, mine)
			}
			others := rt.(wrapped)
			assert.ErrorIs(t, others.Events(t.Context(), func(runtime.Event) {}), tc.rest)
			_, err := others.PodStats(t.Context(), "a")
			assert.ErrorIs(t, err, tc.rest)
			assert.ErrorIs(t, others.UpdateContainer(t.Context(), runtime.UpdateContainerRequest{}), tc.rest)
			assert.ErrorIs(t, others.ReopenContainerLog(t.Context(), "x"), tc.rest)
		})
	}
}

// A rule reaches the answers of probes and hooks: they fail, take long, hang and
// are turned round.
func TestAnswer_UnderEachFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t,
			faulty.Rule{Verb: faulty.RunHandler, Container: "main", Times: 2, Do: faulty.Lie},
			faulty.Rule{Verb: faulty.RunHandler, Container: "main", Skip: 2, Times: 1, Do: faulty.Fail},
			faulty.Rule{Verb: faulty.RunHandler, Container: "main", Skip: 3, Times: 1, Latency: 3 * time.Second},
			faulty.Rule{Verb: faulty.RunHandler, Container: "main", Skip: 4, Times: 1, Do: faulty.HangDone},
		)
		_, id := b.runs(b.rt, "a", "main")
		began := time.Now()
		answer := func() string {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			res, err := b.rt.(runtime.HandlerRunner).RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.LivenessProbe})
			return fmt.Sprint(time.Since(began), " ", res.OK, " ", err)
		}
		no := memory.Answers{Sequence: []memory.Answer{{Kind: memory.AnswerFail}}}
		require.Equal(t, "0s false <nil>", answer())
		b.machine.SetAnswers(memory.For{}, runtime.LivenessProbe, no)
		require.Equal(t, "0s true <nil>", answer())
		require.Equal(t, "0s false faulty: injected: RunHandler", answer())
		require.Equal(t, "3s false <nil>", answer())
		require.Equal(t, "1m3s false context deadline exceeded", answer())
		require.Equal(t, 4, b.machine.Asked(ref("a").UID, "main", runtime.LivenessProbe), "all but the one that failed")
	})
}

// What cannot be asked cannot be lied about.
func TestAnswer_NoLieAboutWhatDoesNotRun(t *testing.T) {
	b := newBed(t, faulty.Rule{Verb: faulty.RunHandler, Do: faulty.Lie})
	res, err := b.rt.(runtime.HandlerRunner).RunHandler(t.Context(), runtime.RunHandlerRequest{ContainerID: "none", Purpose: runtime.LivenessProbe})
	require.ErrorIs(t, err, runtime.ErrNotFound)
	require.False(t, res.OK)
}

func TestWrap_SaysWhatARuntimeWithoutAVoiceWould(t *testing.T) {
	rt := newBed(t).faults.Wrap(bare{memory.New(memory.Config{})}, nil)
	st, err := rt.(runtime.StatusReporter).RuntimeStatus(t.Context())
	require.NoError(t, err)
	require.True(t, st.RuntimeReady && st.NetworkReady)
	_, _, err = rt.(runtime.Versioner).Version(t.Context())
	require.ErrorIs(t, err, runtime.ErrUnsupported)
	require.Zero(t, rt.(runtime.FeatureReporter).Features())
	whole := newBed(t).faults.Wrap(memory.New(memory.Config{}), nil)
	require.Equal(t, memory.New(memory.Config{}).Features(), whole.(runtime.FeatureReporter).Features())
}
