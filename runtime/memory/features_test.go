package memory_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// Every non-zero field of an update takes effect, and a zero field changes nothing. A named huge
// page size is a limit, also with zero bytes.
func TestUpdateContainer_EveryFieldAndNoOther(t *testing.T) {
	r := memory.New(memory.Config{})
	ref, sandbox := createSandbox(t, r, "a", nil)
	id := startContainer(t, r, ref, sandbox, "main", 0)
	update := func(res runtime.Resources) {
		require.NoError(t, r.UpdateContainer(t.Context(), runtime.UpdateContainerRequest{ContainerID: id, Resources: res}))
	}
	var want runtime.Resources
	for i := range reflect.TypeFor[runtime.Resources]().NumField() {
		var one runtime.Resources
		for _, res := range []*runtime.Resources{&one, &want} {
			switch f := reflect.ValueOf(res).Elem().Field(i); f.Kind() {
			case reflect.Uint64:
				f.SetUint(uint64(i + 1))
			case reflect.Int, reflect.Int64:
				f.SetInt(int64(i + 1))
			case reflect.String:
				f.SetString("0-3")
			case reflect.Map:
				f.Set(reflect.ValueOf(map[string]uint64{"2Mi": 1 << 21}))
			default:
				require.Fail(t, "a new kind of field", f.Kind())
			}
		}
		update(one)
		update(runtime.Resources{})
		got, ok := r.Resources(id)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	update(runtime.Resources{HugePages: map[string]uint64{"1Gi": 0}})
	want.HugePages = map[string]uint64{"2Mi": 1 << 21, "1Gi": 0}
	all, _ := r.Resources(id)
	require.Equal(t, want, all)
	update(runtime.Resources{MemoryBytes: runtime.Unlimited, PIDs: runtime.Unlimited})
	all, _ = r.Resources(id)
	want.MemoryBytes, want.PIDs = runtime.Unlimited, runtime.Unlimited
	require.Equal(t, want, all, "a limit can be removed")
	got, _ := r.Resources(id)
	got.HugePages["2Mi"] = 7
	again, _ := r.Resources(id)
	require.Equal(t, want, again, "who looks cannot change anything")
	_, ok := r.Resources("none")
	require.False(t, ok)
}

func TestExec_OutputIsBoundedWithoutALimit(t *testing.T) {
	r := memory.New(memory.Config{})
	ref, sandbox := createSandbox(t, r, "a", nil)
	id := startContainer(t, r, ref, sandbox, "main", 0)
	for limit, want := range map[int]int{0: 16 << 10, -1: 16 << 10, 10: 10, 1 << 20: 50_001} {
		res, err := r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, Command: []string{"echo", strings.Repeat("x", 50_000)}, OutputLimit: limit})
		require.NoError(t, err)
		require.Len(t, res.Output, want)
	}
}

// A streamed command stops when its container exits or its reader disconnects.
func TestExecStream_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", nil)
		id := startContainer(t, r, ref, sandbox, "main", 0)
		gone := errors.New("client disconnected")
		req := runtime.ExecStreamRequest{ContainerID: id, Command: []string{"sh", "-c", "echo one; sleep 2; echo two; sleep 2; exit 4"}}
		_, err := r.ExecStream(t.Context(), req, runtime.Streams{Stdout: brokenPipe{gone}})
		require.ErrorIs(t, err, gone)
		for _, c := range []struct {
			after time.Duration
			code  int32
			out   string
		}{{time.Hour, 4, "one\ntwo\n"}, {3 * time.Second, 137, "one\ntwo\n"}, {time.Second, 137, "one\n"}} {
			id = startContainer(t, r, ref, sandbox, "main", uint32(c.after))
			req.ContainerID = id
			var out strings.Builder
			ended := make(chan int32)
			go func() {
				code, err := r.ExecStream(t.Context(), req, runtime.Streams{Stdout: &out})
				assert.NoError(t, err)
				ended <- code
			}()
			code := int32(-1)
			select {
			case code = <-ended:
			case <-time.After(c.after):
				require.NoError(t, r.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id}))
				code = <-ended
			}
			require.Equal(t, c.code, code)
			require.Equal(t, c.out, out.String())
		}
		require.Zero(t, r.Waiters())
		_, err = r.ExecStream(t.Context(), runtime.ExecStreamRequest{ContainerID: id}, runtime.Streams{})
		require.EqualError(t, err, "memory: the command is empty")
	})
}

type brokenPipe struct{ err error }

func (w brokenPipe) Write([]byte) (int, error) { return 0, w.err }

func TestReadLog_EndsWhenNobodyListens(t *testing.T) {
	r := memory.New(memory.Config{})
	ref, sandbox := createSandbox(t, r, "a", nil)
	id := startContainer(t, r, ref, sandbox, "main", 0)
	gone := errors.New("client disconnected")
	err := r.ReadLog(t.Context(), runtime.ReadLogRequest{ContainerID: id, Follow: true}, brokenPipe{gone})
	require.ErrorIs(t, err, gone)
	require.Zero(t, r.Waiters())
}

// A script in Go may list its lines in any order.
func TestReadLog_IsInOrderOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", nil)
		r.SetScript(memory.Selector{}, memory.Script{Runs: []memory.Run{{For: time.Minute, Print: []memory.Line{
			{After: 2 * time.Second, Text: "three"}, {Text: "one"}, {After: time.Second, Text: "two"}, {After: time.Hour, Text: "never"},
		}}}})
		id := startContainer(t, r, ref, sandbox, "main", 0)
		var log strings.Builder
		require.NoError(t, r.ReadLog(t.Context(), runtime.ReadLogRequest{ContainerID: id, Follow: true}, &log))
		require.Equal(t, "one\ntwo\nthree\n", log.String())
	})
}

// Any number of callers wait for one container, without a goroutine of the machine, and leave no
// state behind.
func TestFeatures_ManyWaitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", map[string]string{memory.AnnotationPrefix + "main.readiness": "hang"})
		id := startContainer(t, r, ref, sandbox, "main", 0)
		const n = 50
		done := make(chan error, 3*n)
		for range n {
			go func() {
				_, err := r.RunHandler(t.Context(), runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.ReadinessProbe})
				done <- err
			}()
			go func() {
				done <- r.ReadLog(t.Context(), runtime.ReadLogRequest{ContainerID: id, Follow: true}, io.Discard)
			}()
			go func() {
				_, err := r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, Command: []string{"sleep", "inf"}})
				done <- err
			}()
		}
		synctest.Wait()
		require.Equal(t, 4*n, r.Waiters(), "a command, and the watcher that stops it with its container")
		require.Zero(t, r.Planned())
		time.Sleep(time.Hour)
		require.NoError(t, r.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id}))
		failed := 0
		for range 3 * n {
			if err := <-done; err != nil {
				require.ErrorIs(t, err, runtime.ErrWrongState)
				failed++
			}
		}
		require.Equal(t, n, failed, "the questions, and nothing else")
		require.Zero(t, r.Waiters())
		require.Equal(t, n, r.HandlerCalls(ref.UID, "main", runtime.ReadinessProbe))
	})
}

// Of several matching calls of SetAnswers the last one applies, whether its selector is general or
// specific.
func TestSetAnswers_TheLastOneHolds(t *testing.T) {
	r := memory.New(memory.Config{})
	ref, sandbox := createSandbox(t, r, "a", nil)
	id := startContainer(t, r, ref, sandbox, "main", 0)
	say := func(to memory.Selector, purpose runtime.Purpose, kinds ...memory.AnswerKind) {
		var a memory.Answers
		for _, k := range kinds {
			a.Sequence = append(a.Sequence, memory.Answer{Kind: k})
		}
		r.SetAnswers(to, purpose, a)
	}
	ok := func() bool {
		res, err := r.RunHandler(t.Context(), runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.LivenessProbe})
		require.NoError(t, err)
		return res.OK
	}
	all, one := memory.Selector{}, memory.Selector{UID: ref.UID, Container: "main"}
	say(all, runtime.LivenessProbe, memory.AnswerFail)
	require.False(t, ok())
	say(one, runtime.ReadinessProbe, memory.AnswerOK)
	require.False(t, ok(), "another purpose")
	say(one, runtime.LivenessProbe, memory.AnswerOK)
	require.True(t, ok())
	say(memory.Selector{UID: "other"}, runtime.LivenessProbe, memory.AnswerFail)
	require.True(t, ok(), "another pod")
	say(all, runtime.LivenessProbe, memory.AnswerFail)
	require.False(t, ok(), "set again, it is the last")
	say(all, runtime.LivenessProbe)
	require.True(t, ok())
	say(one, runtime.ReadinessProbe)
	require.True(t, ok(), "another purpose is taken back")
	say(memory.Selector{UID: ref.UID}, runtime.LivenessProbe, memory.AnswerFail)
	say(memory.Selector{UID: ref.UID}, runtime.ReadinessProbe, memory.AnswerOK)
	require.False(t, ok(), "another purpose of the same replaces nothing")
	say(memory.Selector{UID: ref.UID}, runtime.LivenessProbe)
	say(one, runtime.LivenessProbe)
	require.True(t, ok(), "none is left")

	mine := memory.Answers{Sequence: []memory.Answer{{Kind: memory.AnswerFail}}}
	r.SetAnswers(one, runtime.LivenessProbe, mine)
	mine.Sequence[0].Kind = memory.AnswerOK
	require.False(t, ok(), "a caller cannot change answers that were set")
}

// The annotations of a container take precedence over those on its sandbox, for each purpose. Of
// several invalid annotations the error always names the same one.
func TestAnswer_AnnotationsOfTheContainerFirst(t *testing.T) {
	r := memory.New(memory.Config{})
	prefix := memory.AnnotationPrefix + "main."
	ref, sandbox := createSandbox(t, r, "a", map[string]string{prefix + "liveness": "fail message=sandbox", prefix + "readiness": "fail message=sandbox"})
	req := runtime.CreateContainerRequest{
		Pod: ref, SandboxID: sandbox, Name: "main", Image: "busybox",
		Annotations: map[string]string{prefix + "liveness": "fail message=container"},
		Resources:   runtime.Resources{HugePages: map[string]uint64{"2Mi": 1}},
	}
	id, err := r.CreateContainer(t.Context(), req)
	require.NoError(t, err)
	req.Resources.HugePages["2Mi"] = 2
	res, _ := r.Resources(id)
	require.Equal(t, uint64(1), res.HugePages["2Mi"], "the request is the caller's")
	require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
	for purpose, want := range map[runtime.Purpose]string{runtime.LivenessProbe: "container", runtime.ReadinessProbe: "sandbox", runtime.StartupProbe: ""} {
		res, err := r.RunHandler(t.Context(), runtime.RunHandlerRequest{ContainerID: id, Purpose: purpose})
		require.NoError(t, err)
		require.Equal(t, want, res.Message)
	}
	bad := map[string]string{}
	for _, word := range []string{"f", "b", "d", "a", "e", "c"} {
		bad[prefix+word] = "ok"
	}
	req.Annotations, req.Attempt = bad, 1
	for range 10 {
		_, err := r.CreateContainer(t.Context(), req)
		require.ErrorIs(t, err, memory.ErrScript)
		require.ErrorContains(t, err, prefix+"a: ")
	}
}

// A caller waits as long as its context allows, and not as long as the answer takes.
func TestAnswer_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", map[string]string{memory.AnnotationPrefix + "main.liveness": "ok takes=1h"})
		id := startContainer(t, r, ref, sandbox, "main", 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: id, Purpose: runtime.LivenessProbe})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, r.Waiters())
	})
}
