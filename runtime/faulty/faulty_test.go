package faulty_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
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
			HandlerAnnotations: map[string]string{
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
			done <- runtime.FeaturesOf(b.rt).EventSource.Events(ctx, func(e runtime.Event) { seen[e.UID]++ })
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
		`unknown verb "Start"`, `cannot be negative`, `"RunSandbox" cannot Lie`, `"StopSandbox" cannot Omit`,
		`ListPods concerns no pod`, `Hang returns no Err`, `unknown Fault(99)`,
	} {
		assert.ErrorContains(t, err, want)
	}
}

// bare is a runtime without any feature.
type bare struct{ runtime.Runtime }

// able is a runtime with the given features.
type able struct {
	runtime.Runtime
	features runtime.Features
}

func (a able) Features() runtime.Features { return a.features }

// every plays each role, and returns its error.
type every struct{ err error }

func (e every) Events(context.Context, func(runtime.Event)) error { return e.err }
func (e every) RuntimeStatus(context.Context) (runtime.RuntimeStatus, error) {
	return runtime.RuntimeStatus{}, e.err
}
func (e every) Version(context.Context) (string, string, error) { return "", "", e.err }
func (e every) Exec(context.Context, runtime.ExecRequest) (runtime.ExecResult, error) {
	return runtime.ExecResult{}, e.err
}
func (e every) ExecStream(context.Context, runtime.ExecStreamRequest, runtime.Streams) (int32, error) {
	return 0, e.err
}
func (e every) Attach(context.Context, runtime.AttachRequest, runtime.Streams) error { return e.err }
func (e every) PortForward(context.Context, runtime.PortForwardRequest, io.ReadWriteCloser) error {
	return e.err
}
func (e every) RunHandler(context.Context, runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	return runtime.RunHandlerResult{OK: true}, e.err
}
func (e every) ReadLog(context.Context, runtime.ReadLogRequest, io.Writer) error { return e.err }
func (e every) ReopenContainerLog(context.Context, string) error                 { return e.err }
func (e every) ImageFilesystem(context.Context) (runtime.FilesystemUsage, error) {
	return runtime.FilesystemUsage{}, e.err
}
func (e every) ListUsedImages(context.Context) ([]string, error) { return nil, e.err }
func (e every) PodStats(context.Context, types.UID) (runtime.PodStats, error) {
	return runtime.PodStats{}, e.err
}
func (e every) UpdateContainer(context.Context, runtime.UpdateContainerRequest) error { return e.err }
func (e every) UpdatePodCIDR(context.Context, string) error                           { return e.err }

// A wrapper has the features of what it wraps, each alone and all together, but no streams.
func TestWrap_HasTheFeaturesOfWhatItWraps(t *testing.T) {
	e := every{errors.New("mine")}
	all := runtime.Features{
		EventSource: e, StatusReporter: e, Versioner: e, Execer: e, HandlerRunner: e, LogReader: e, LogReopener: e, ExecStreamer: e, Attacher: e,
		PortForwarder: e, ImageFilesystem: e, UsedImageLister: e, StatsReader: e, Updater: e, PodCIDRUpdater: e,
		ImageMounts: runtime.ImageMountsWhole, StrictGroups: runtime.SupportFull,
	}
	streams := map[string]bool{"ExecStreamer": true, "Attacher": true, "PortForwarder": true}
	fields := reflect.TypeFor[runtime.Features]()
	check := func(name string, has runtime.Features) {
		got := newBed(t).faults.Wrap(able{bare{}, has}, nil).(runtime.FeatureReporter).Features()
		for i := range fields.NumField() {
			field := fields.Field(i)
			had, have := reflect.ValueOf(has).Field(i), reflect.ValueOf(got).Field(i)
			if field.Type.Kind() != reflect.Interface {
				assert.Equal(t, had.Interface(), have.Interface(), "%s: %s", name, field.Name)
				continue
			}
			assert.Equal(t, !had.IsNil() && !streams[field.Name], !have.IsNil(), "%s: %s", name, field.Name)
			if !have.IsNil() {
				assert.NotEqual(t, had.Interface(), have.Interface(), "%s: %s is not wrapped", name, field.Name)
			}
		}
	}
	for i := range fields.NumField() {
		var one runtime.Features
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(all).Field(i))
		check("only "+fields.Field(i).Name, one)
	}
	check("all", all)
	check("none", runtime.Features{})
	assert.Zero(t, newBed(t).faults.Wrap(bare{}, nil).(runtime.FeatureReporter).Features())
}

// Each role asks the wrapped runtime, or the rules instead of it. A role that the wrapped
// runtime has lost since is unsupported.
func TestWrap_AsksWhatItWraps(t *testing.T) {
	mine := errors.New("mine")
	e := every{mine}
	inner := &able{memory.New(memory.Config{}), runtime.Features{
		EventSource: e, StatusReporter: e, Versioner: e, Execer: e, HandlerRunner: e, LogReader: e, LogReopener: e,
		ImageFilesystem: e, UsedImageLister: e, StatsReader: e, Updater: e, PodCIDRUpdater: e,
	}}
	b := newBed(t, faulty.Rule{Verb: faulty.Exec, Do: faulty.Fail, Skip: 2, Times: 1})
	f := b.faults.Wrap(inner, nil).(runtime.FeatureReporter).Features()
	ctx := t.Context()
	calls := map[string]func() error{
		faulty.Events:             func() error { return f.EventSource.Events(ctx, func(runtime.Event) {}) },
		faulty.RuntimeStatus:      func() error { _, err := f.StatusReporter.RuntimeStatus(ctx); return err },
		faulty.Version:            func() error { _, _, err := f.Versioner.Version(ctx); return err },
		faulty.Exec:               func() error { _, err := f.Execer.Exec(ctx, runtime.ExecRequest{}); return err },
		faulty.RunHandler:         func() error { _, err := f.HandlerRunner.RunHandler(ctx, runtime.RunHandlerRequest{}); return err },
		faulty.ReadLog:            func() error { return f.LogReader.ReadLog(ctx, runtime.ReadLogRequest{}, io.Discard) },
		faulty.ReopenContainerLog: func() error { return f.LogReopener.ReopenContainerLog(ctx, "x") },
		faulty.ImageFilesystem:    func() error { _, err := f.ImageFilesystem.ImageFilesystem(ctx); return err },
		faulty.ListUsedImages:     func() error { _, err := f.UsedImageLister.ListUsedImages(ctx); return err },
		faulty.PodStats:           func() error { _, err := f.StatsReader.PodStats(ctx, "a"); return err },
		faulty.UpdateContainer:    func() error { return f.Updater.UpdateContainer(ctx, runtime.UpdateContainerRequest{}) },
		faulty.UpdatePodCIDR:      func() error { return f.PodCIDRUpdater.UpdatePodCIDR(ctx, "10.0.0.0/24") },
	}
	for verb, call := range calls {
		assert.ErrorIs(t, call(), mine, verb)
	}
	inner.features = runtime.Features{}
	for verb, call := range calls {
		assert.ErrorIs(t, call(), runtime.ErrUnsupported, verb)
	}
	assert.ErrorIs(t, calls[faulty.Exec](), faulty.ErrInjected)
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
			res, err := runtime.FeaturesOf(b.rt).HandlerRunner.RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.LivenessProbe})
			return fmt.Sprint(time.Since(began), " ", res.OK, " ", err)
		}
		no := memory.Answers{Sequence: []memory.Answer{{Kind: memory.AnswerFail}}}
		require.Equal(t, "0s false <nil>", answer())
		b.machine.SetAnswers(memory.Selector{}, runtime.LivenessProbe, no)
		require.Equal(t, "0s true <nil>", answer())
		require.Equal(t, "0s false faulty: injected: RunHandler", answer())
		require.Equal(t, "3s false <nil>", answer())
		require.Equal(t, "1m3s false context deadline exceeded", answer())
		require.Equal(t, 4, b.machine.HandlerCalls(ref("a").UID, "main", runtime.LivenessProbe), "all calls but the failed one")
	})
}

// What cannot be asked cannot be lied about.
func TestAnswer_NoLieAboutWhatDoesNotRun(t *testing.T) {
	b := newBed(t, faulty.Rule{Verb: faulty.RunHandler, Do: faulty.Lie})
	res, err := runtime.FeaturesOf(b.rt).HandlerRunner.RunHandler(t.Context(), runtime.RunHandlerRequest{ContainerID: "none", Purpose: runtime.LivenessProbe})
	require.ErrorIs(t, err, runtime.ErrNotFound)
	require.False(t, res.OK)
}
