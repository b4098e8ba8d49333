package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

func TestHooks_SeeEveryCallWithItsResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []memory.Call
		r := memory.New(memory.Config{Hooks: memory.Hooks{Call: func(c memory.Call) { calls = append(calls, c) }}})
		ref, sandbox := createSandbox(t, r, "a", map[string]string{memory.AnnotationPrefix + "deaf": "ignore-term"})
		id := startContainer(t, r, ref, sandbox, "deaf", 0)
		began := time.Now()
		stop := runtime.StopContainerRequest{ContainerID: id, Grace: 3 * time.Second}
		require.NoError(t, r.StopContainer(t.Context(), stop))
		list, err := r.ListPods(t.Context())
		require.NoError(t, err)
		_, err = r.PodStatus(t.Context(), "other")
		require.NoError(t, err)
		err = r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: "none"})
		require.ErrorIs(t, err, runtime.ErrNotFound)

		var verbs []string
		for _, c := range calls {
			verbs = append(verbs, c.Verb)
		}
		require.Equal(t, []string{"PullImage", "RunSandbox", "CreateContainer", "StartContainer", "StopContainer", "ListPods", "PodStatus", "StopSandbox"}, verbs)
		require.Equal(t, sandbox, calls[1].Result)
		require.Equal(t, memory.Call{Verb: "StopContainer", Request: stop, Began: began, Ended: began.Add(3 * time.Second)}, calls[4])
		require.Equal(t, memory.Call{Verb: "ListPods", Result: list, Began: time.Now(), Ended: time.Now()}, calls[5])
		require.Equal(t, types.UID("other"), calls[6].Request)
		require.ErrorIs(t, calls[7].Err, runtime.ErrNotFound)
	})
}

// A relist of an unchanged machine allocates nothing.
func TestListPods_IsSharedUntilSomethingChanges(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	r := memory.New(memory.Config{Clock: clk, Images: []string{"busybox"}})
	for i := range 100 {
		ref, sandbox := createSandbox(t, r, fmt.Sprint(i), nil)
		startContainer(t, r, ref, sandbox, "main", 0, "sleep", "60")
	}
	list := func() []runtime.Pod {
		l, err := r.ListPods(t.Context())
		require.NoError(t, err)
		return l
	}
	before := list()
	require.Len(t, before, 100)
	require.Same(t, &before[0], &list()[0])
	require.Zero(t, testing.AllocsPerRun(10, func() { _, _ = r.ListPods(t.Context()) }))
	require.Zero(t, testing.AllocsPerRun(10, func() { _, _ = r.PodStatus(t.Context(), before[0].UID) }))

	require.NoError(t, r.LoseContainer(before[7].Containers[0].ID))
	after := list()
	require.Len(t, before[7].Containers, 1)
	require.Empty(t, after[7].Containers)
	require.Same(t, &before[8].Containers[0], &after[8].Containers[0], "an unchanged pod is shown again as it was")

	clk.Step(time.Minute)
	require.Equal(t, runtime.StateRunning, after[8].Containers[0].State)
	require.Equal(t, runtime.StateExited, list()[8].Containers[0].State)
}

// Pods get the same IDs and addresses in any order of creation, and no two pods share one.
func TestIdentity_DoesNotDependOnOtherPods(t *testing.T) {
	const n = 2000
	identities := func(order func(i int) int) map[types.UID][2]string {
		r := memory.New(memory.Config{Images: []string{"busybox"}})
		out, ips := map[types.UID][2]string{}, map[string]bool{}
		for i := range n {
			ref, sandbox := createSandbox(t, r, fmt.Sprint(order(i)), nil)
			st, err := r.PodStatus(t.Context(), ref.UID)
			require.NoError(t, err)
			ip := st.Sandboxes[0].IPs[0]
			require.Regexp(t, `^10\.88\.\d+\.\d+$`, ip)
			require.False(t, ips[ip], "%s twice", ip)
			ips[ip] = true
			out[ref.UID] = [2]string{sandbox, ip}
		}
		return out
	}
	forth, back := identities(func(i int) int { return i }), identities(func(i int) int { return n - 1 - i })
	moved := 0
	for uid, id := range forth {
		require.Equal(t, id[0], back[uid][0])
		if id[1] != back[uid][1] {
			moved++ // Two that want one address: the first has it.
		}
	}
	require.Less(t, moved, n/10)
}

// Every address is allocated once before allocation fails. A released address is allocated again.
func TestAddresses_UntilNoneIsLeft(t *testing.T) {
	r := memory.New(memory.Config{})
	seen := map[string]bool{}
	var last string
	for i := range 256*254 - 1 { // without networks, broadcasts and the gateway
		uid := types.UID(fmt.Sprintf("%05d", i))
		id, err := r.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: runtime.PodRef{UID: uid}})
		require.NoError(t, err)
		st, err := r.PodStatus(t.Context(), uid)
		require.NoError(t, err)
		seen[st.Sandboxes[0].IPs[0]] = true
		last = id
	}
	require.Len(t, seen, 256*254-1)
	one := runtime.RunSandboxRequest{Pod: runtime.PodRef{UID: "one more"}}
	_, err := r.RunSandbox(t.Context(), one)
	require.ErrorContains(t, err, "no free address")
	require.NoError(t, r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: last}))
	_, err = r.RunSandbox(t.Context(), one)
	require.NoError(t, err)
}

// Attempts in a new sandbox that start again from 0 are newer than the old ones. The order of
// creation does not matter.
func TestPodStatus_NewestFirstWhateverTheOrder(t *testing.T) {
	r := memory.New(memory.Config{Images: []string{"busybox"}})
	ref, _ := createSandbox(t, r, "a", nil)
	var sandboxes []string
	for _, attempt := range []uint32{2, 1, 3} {
		id, err := r.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: ref, Attempt: attempt})
		require.NoError(t, err)
		sandboxes = append(sandboxes, id)
	}
	for i, id := range sandboxes {
		for _, attempt := range []uint32{uint32(5 - i), uint32(4 - i), uint32(6 - i)} {
			startContainer(t, r, ref, id, "main", attempt)
		}
	}
	st, err := r.PodStatus(t.Context(), ref.UID)
	require.NoError(t, err)
	var order []uint32
	for _, s := range st.Sandboxes {
		order = append(order, s.Attempt)
	}
	require.Equal(t, []uint32{3, 2, 1, 0}, order)
	order = nil
	for _, c := range st.Containers {
		order = append(order, c.Attempt)
	}
	require.Equal(t, []uint32{4, 3, 2, 6, 5, 4, 5, 4, 3}, order)
}

func TestRequests_BelongToTheCaller(t *testing.T) {
	r := memory.New(memory.Config{Images: []string{"busybox"}})
	mine := map[string]string{"is": "mine", memory.AnnotationPrefix + "main": "run=5s"}
	ref, sandbox := createSandbox(t, r, "a", mine)
	command := []string{"false"}
	id, err := r.CreateContainer(t.Context(), runtime.CreateContainerRequest{
		Pod: ref, SandboxID: sandbox, Name: "other", Image: "busybox", Command: command, Annotations: mine,
	})
	require.NoError(t, err)
	mine["is"], mine[memory.AnnotationPrefix+"other"], command[0] = "changed", "run=forever", "true"
	require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
	c := containerStatus(t, r, ref, id)
	require.Equal(t, "mine", c.Annotations["is"])
	require.Equal(t, int32(1), c.ExitCode)
	st, err := r.PodStatus(t.Context(), ref.UID)
	require.NoError(t, err)
	require.Equal(t, "mine", st.Sandboxes[0].Annotations["is"])
}

// A pull without a pod follows no script. A pull for a pod without a container name follows all
// scripts of the pod, in order of name.
func TestPullImage_ForWhom(t *testing.T) {
	fails, err := memory.ParseScript("fail=image; run=forever")
	require.NoError(t, err)
	r := memory.New(memory.Config{})
	r.SetScript(memory.Selector{Container: "z"}, fails)
	_, err = r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox", Container: "z"})
	require.NoError(t, err)
	for i := range 8 {
		ref, _ := createSandbox(t, r, fmt.Sprint(i), map[string]string{
			memory.AnnotationPrefix + "b": fails.String(), memory.AnnotationPrefix + "a": fails.String(),
		})
		for _, name := range []string{"a", "b", "z"} {
			_, err = r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox", Pod: ref})
			require.ErrorContains(t, err, "the script of container "+name)
		}
		_, err = r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox", Pod: ref})
		require.NoError(t, err)
	}
}

func TestEvents_AnyNumberOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		var seen [3][]time.Duration
		began := time.Now()
		done := make(chan error, len(seen))
		for i := range seen {
			go func() {
				done <- r.Events(ctx, func(e runtime.Event) {
					require.Equal(t, time.Now(), e.At)
					seen[i] = append(seen[i], e.At.Sub(began))
				})
			}()
		}
		synctest.Wait()
		ref, sandbox := createSandbox(t, r, "a", nil)
		startContainer(t, r, ref, sandbox, "long", 0, "sleep", "9")
		startContainer(t, r, ref, sandbox, "short", 0, "sleep", "4")
		time.Sleep(time.Minute)
		cancel()
		for i := range seen {
			require.ErrorIs(t, <-done, context.Canceled)
			require.Equal(t, []time.Duration{0, 0, 0, 0, 0, 4 * time.Second, 9 * time.Second}, seen[i])
		}
		require.Zero(t, r.Waiters())
	})
}

// The order of events at one time does not depend on the order in which the containers were
// started.
func TestEvents_OfOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var orders [2][]types.UID
		for i := range orders {
			r := memory.New(memory.Config{})
			for k := range 20 {
				if i == 1 {
					k = 19 - k
				}
				ref, sandbox := createSandbox(t, r, fmt.Sprint(k), nil)
				startContainer(t, r, ref, sandbox, "main", 0, "sleep", "9")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_ = r.Events(ctx, func(e runtime.Event) { orders[i] = append(orders[i], e.UID) })
			cancel()
		}
		require.Len(t, orders[0], 20)
		require.Equal(t, orders[0], orders[1])
	})
}

// An exited or removed container leaves no entry in the heap of changes.
func TestPlans_EndWithTheirContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ref, sandbox := createSandbox(t, r, "a", map[string]string{memory.AnnotationPrefix + "slow": "start-delay=1h"})
		for attempt := range uint32(50) {
			id := startContainer(t, r, ref, sandbox, "main", attempt, "sleep", "1000h")
			require.Equal(t, 1, r.Planned())
			require.NoError(t, r.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id}))
			require.Zero(t, r.Planned())
		}
		require.NoError(t, r.LoseContainer(startContainer(t, r, ref, sandbox, "main", 50, "sleep", "1000h")))
		require.Zero(t, r.Planned())
		startContainer(t, r, ref, sandbox, "main", 51, "sleep", "1000h")
		id, err := r.CreateContainer(t.Context(), runtime.CreateContainerRequest{Pod: ref, SandboxID: sandbox, Name: "slow", Image: "busybox"})
		require.NoError(t, err)
		failed := make(chan error, 1)
		go func() { failed <- r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}) }()
		synctest.Wait()
		require.Equal(t, 2, r.Planned())
		require.NoError(t, r.RemoveSandbox(t.Context(), runtime.RemoveSandboxRequest{SandboxID: sandbox}))
		require.ErrorIs(t, <-failed, runtime.ErrNotFound)
		require.Zero(t, r.Planned())
	})
}

// The histories of removed pods are bounded. Histories of present and recent pods are kept.
func TestPast_IsBounded(t *testing.T) {
	r := memory.New(memory.Config{Images: []string{"busybox"}})
	ref, sandbox := createSandbox(t, r, "stays", map[string]string{memory.AnnotationPrefix + "main": "exit=1; exit=2"})
	exit := func(attempt uint32) int32 {
		return containerStatus(t, r, ref, startContainer(t, r, ref, sandbox, "main", attempt)).ExitCode
	}
	require.EqualValues(t, 1, exit(0))
	var last string
	for i := range 25_000 {
		last = fmt.Sprint(i)
		_, gone := createSandbox(t, r, last, nil)
		require.NoError(t, r.RemoveSandbox(t.Context(), runtime.RemoveSandboxRequest{SandboxID: gone}))
		if i == 24_999 {
			_, again := createSandbox(t, r, last, nil)
			require.NotEqual(t, gone, again, "an ID is not given out again")
		}
	}
	require.Less(t, r.Remembered(), 20_010)
	require.EqualValues(t, 2, exit(1), "the second start, however long ago the first was")
}

// runToRunning drives one pod to a running container as a careful agent does: it reads the status first,
// and repeats an attempt until its record exists.
func runToRunning(rt *memory.Runtime, ref runtime.PodRef) error {
	ctx := context.Background()
	st, err := rt.PodStatus(ctx, ref.UID)
	if err != nil {
		return err
	}
	if len(st.Sandboxes) == 0 {
		if _, err := rt.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: ref}); err != nil {
			return err
		}
		return runToRunning(rt, ref)
	}
	if len(st.Containers) == 0 {
		_, err := rt.CreateContainer(ctx, runtime.CreateContainerRequest{
			Pod: ref, SandboxID: st.Sandboxes[0].ID, Name: "main", Image: "busybox", Command: []string{"true"},
		})
		if err != nil {
			return err
		}
		return runToRunning(rt, ref)
	}
	c := st.Containers[0]
	if c.State == runtime.StateCreated {
		return rt.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: c.ID})
	}
	return nil
}

// A client crashes at every step. The next client finds the effects of all calls that were sent,
// and reaches exactly one container that ran.
func TestCrash_AtEveryStep(t *testing.T) {
	ref := runtime.PodRef{UID: "a", Name: "a", Namespace: "default"}
	lost := 0
	for step := 1; ; step++ {
		s := executor.NewScheduler(1, time.Unix(1_700_000_000, 0))
		m := memory.New(memory.Config{Clock: s.NewProcess().Clock(), Images: []string{"busybox"}})
		var errs [2]error
		run := func(i int) *executor.Process {
			p := s.NewProcess()
			p.Go(func() { errs[i] = runToRunning(m.WithClock(p.Clock()), ref) })
			return p
		}
		first := run(0)
		for range step {
			s.Step()
		}
		whole := first.Running() == 0
		before, err := m.PodStatus(t.Context(), ref.UID)
		require.NoError(t, err)
		first.Crash()
		if !whole {
			require.ErrorIs(t, errs[0], executor.ErrCrashed)
			if len(before.Sandboxes) == 1 && len(before.Containers) == 0 {
				lost++
			}
		}
		after, err := m.PodStatus(t.Context(), ref.UID)
		require.NoError(t, err)
		require.Equal(t, before, after, "step %d: the crash itself had an effect", step)

		run(1)
		s.RunUntilIdle()
		require.NoError(t, errs[1], "step %d", step)
		st, err := m.PodStatus(t.Context(), ref.UID)
		require.NoError(t, err)
		require.Len(t, st.Sandboxes, 1, "step %d", step)
		require.Len(t, st.Containers, 1, "step %d", step)
		require.Equal(t, runtime.StateExited, st.Containers[0].State)
		if whole {
			require.NoError(t, errs[0])
			require.Positive(t, lost, "no crash fell between a sandbox and its container")
			return
		}
	}
}

// The view of a crashed process returns errors and changes nothing.
func TestCrash_EndsTheView(t *testing.T) {
	s := executor.NewScheduler(1, time.Unix(1_700_000_000, 0))
	m := memory.New(memory.Config{Clock: s.NewProcess().Clock()})
	p := s.NewProcess()
	view := m.WithClock(p.Clock())
	p.Crash()
	_, err := view.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: runtime.PodRef{UID: "a"}})
	require.ErrorIs(t, err, executor.ErrCrashed)
	list, err := m.ListPods(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestSetScript_TheLastOneSetThatMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := memory.New(memory.Config{})
		ends := func(code int32) memory.Script { return memory.Script{Runs: []memory.Run{{Exit: code}}} }
		r.SetScript(memory.Selector{}, ends(1))
		r.SetScript(memory.Selector{Name: "a"}, ends(2))
		r.SetScript(memory.Selector{UID: "uid-a", Namespace: "default", Container: "main"}, ends(3))
		r.SetScript(memory.Selector{Name: "nobody"}, ends(4))
		ref, sandbox := createSandbox(t, r, "a", nil)
		other, otherSandbox := createSandbox(t, r, "b", nil)
		attempt := uint32(0)
		code := func(ref runtime.PodRef, sandbox, name string) int32 {
			attempt++
			return containerStatus(t, r, ref, startContainer(t, r, ref, sandbox, name, attempt)).ExitCode
		}
		require.Equal(t, int32(3), code(ref, sandbox, "main"))
		require.Equal(t, int32(2), code(ref, sandbox, "side"))
		require.Equal(t, int32(1), code(other, otherSandbox, "main"))
		r.SetScript(memory.Selector{UID: "uid-a", Namespace: "default", Container: "main"}, memory.Script{})
		require.Equal(t, int32(2), code(ref, sandbox, "main"))
		r.SetScript(memory.Selector{Name: "a"}, ends(5))
		require.Equal(t, int32(5), code(ref, sandbox, "main"), "set again, it is the last")
	})
}

func TestNew_RefusesWhatHasNoIdentity(t *testing.T) {
	r := memory.New(memory.Config{})
	_, err := r.RunSandbox(t.Context(), runtime.RunSandboxRequest{})
	require.Error(t, err)
	ref, sandbox := createSandbox(t, r, "a", nil)
	_, err = r.CreateContainer(t.Context(), runtime.CreateContainerRequest{Pod: ref, SandboxID: sandbox, Image: "busybox"})
	require.Error(t, err)
	_, err = r.CreateContainer(t.Context(), runtime.CreateContainerRequest{
		Pod: runtime.PodRef{UID: "b"}, SandboxID: sandbox, Name: "main", Image: "busybox",
	})
	require.ErrorIs(t, err, runtime.ErrNotFound, "the sandbox is another pod's")
	_, err = r.PullImage(t.Context(), runtime.PullImageRequest{})
	require.ErrorIs(t, err, runtime.ErrImage)
}

func TestImages_Names(t *testing.T) {
	r := memory.New(memory.Config{Images: []string{"nginx", "registry:5000/a/b", "c@sha256:abc"}})
	for name, same := range map[string]string{
		"nginx":                    "nginx:latest",
		"registry:5000/a/b:latest": "registry:5000/a/b",
		"c@sha256:abc":             "sha256:abc",
	} {
		one, err := r.ImageStatus(t.Context(), runtime.ImageStatusRequest{Image: name})
		require.NoError(t, err, name)
		two, err := r.ImageStatus(t.Context(), runtime.ImageStatusRequest{Image: same})
		require.NoError(t, err, same)
		require.Equal(t, one, two)
	}
	_, err := r.ImageStatus(t.Context(), runtime.ImageStatusRequest{Image: "nginx:1"})
	require.ErrorIs(t, err, runtime.ErrNotFound)
	images, err := r.ListImages(t.Context())
	require.NoError(t, err)
	require.Len(t, images, 3)

	_, err = r.PullImage(t.Context(), runtime.PullImageRequest{Image: "b@sha256:abc"})
	require.NoError(t, err)
	for range 20 {
		one, err := r.ImageStatus(t.Context(), runtime.ImageStatusRequest{Image: "sha256:abc"})
		require.NoError(t, err)
		require.Equal(t, []string{"b@sha256:abc"}, one.Digests, "of two names the first, whatever the map's order")
	}
}

func TestFailPulls_UntilItIsTakenBack(t *testing.T) {
	r := memory.New(memory.Config{Images: []string{"busybox"}})
	r.FailPulls("busybox", errors.New("429 too many requests"))
	_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox:latest"})
	require.ErrorIs(t, err, runtime.ErrImage)
	require.ErrorContains(t, err, "429 too many requests")
	r.FailPulls("busybox", nil)
	_, err = r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox"})
	require.NoError(t, err)
}

func BenchmarkListPodsUnchanged(b *testing.B) {
	r := memory.New(memory.Config{Images: []string{"busybox"}})
	for i := range 10_000 {
		ref := runtime.PodRef{UID: types.UID(fmt.Sprint(i)), Name: fmt.Sprint(i)}
		_, err := r.RunSandbox(b.Context(), runtime.RunSandboxRequest{Pod: ref})
		require.NoError(b, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = r.ListPods(b.Context())
	}
}
