package prober_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
	"github.com/podkeel/podkeel/runtime"
)

func timeAfter(d time.Duration) time.Time { return start.Add(d) }

// One container runs from its start to its exit, and then the next one. Initial values are not
// delivered (PR-2). An exit changes every verdict to Failure (PR-7). After StopLivenessAndStartup
// only the readiness probe runs (PR-8).
func TestRun_Life(t *testing.T) {
	w, s, _ := newSimulation(t)
	w.p.AddPod(aPod("a", "lrs"))
	s.RunUntil(timeAfter(5 * time.Second))
	assert.Empty(t, w.takeLines(), "PR-4: no container was observed")
	w.setResult("a/c/Startup", "fail")
	w.observeStart("a", "1")
	s.RunUntil(timeAfter(6 * time.Second))
	w.setResult("a/c/Startup", "pass")
	s.RunUntil(timeAfter(16 * time.Second))
	w.setResult("a/c/Liveness", "fail")
	s.RunUntil(timeAfter(36 * time.Second))
	w.observeExit("a", "1")
	w.observeStart("a", "2")
	s.RunUntil(timeAfter(37 * time.Second))
	w.p.StopLivenessAndStartup("a")
	s.RunUntil(timeAfter(47 * time.Second))
	w.p.RemovePod("a")
	s.RunUntil(timeAfter(time.Hour))
	assert.Equal(t, `5s check a/c/Startup of 1 fail
5s event Warning Unhealthy: Startup probe of container c failed: no
15s check a/c/Startup of 1 pass
15s a/c Startup of 1: true
15s check a/c/Liveness of 1 
15s check a/c/Readiness of 1 
15s a/c Readiness of 1: true
25s check a/c/Readiness of 1 
25s check a/c/Liveness of 1 fail
25s event Warning Unhealthy: Liveness probe of container c failed: no
35s check a/c/Readiness of 1 
35s check a/c/Liveness of 1 fail
35s event Warning Unhealthy: Liveness probe of container c failed: no
35s a/c Liveness of 1: false no
36s a/c Readiness of 1: false
36s a/c Startup of 1: false
36s check a/c/Startup of 2 pass
36s a/c Startup of 2: true
36s check a/c/Liveness of 2 fail
36s event Warning Unhealthy: Liveness probe of container c failed: no
36s check a/c/Readiness of 2 
36s a/c Readiness of 2: true
46s check a/c/Readiness of 2 
`, w.takeLines())
}

// An attempt makes three checks. If none has a result, the attempt does not count.
func TestAttempt_PR11_Errors(t *testing.T) {
	for what, want := range map[string]int{"error": 3, "nothing": 3, "panic": 1} {
		w, s, _ := newSimulation(t, func(c *prober.Config) { c.Hooks.Probed = func(a prober.Attempt) { require.Error(t, a.Err) } })
		w.setResult("a/c/Liveness", what)
		w.p.AddPod(aPod("a", "l"))
		w.observeStart("a", "1")
		s.RunUntil(timeAfter(time.Second))
		assert.Equal(t, want, w.countCalls("a/c/Liveness"), what)
		s.RunUntil(timeAfter(91 * time.Second))
		assert.Equal(t, 10*want, w.countCalls("a/c/Liveness"), "PR-20: it goes on")
		assert.Equal(t, verdict.Success, w.p.Verdict("a", "1", verdict.Liveness))
	}
}

func TestAttempt_TimeoutIsAFailure(t *testing.T) {
	w, s, _ := newSimulation(t)
	w.setResult("a/c/Liveness", "hang")
	w.p.AddPod(aPod("a", "l"))
	w.observeStart("a", "1")
	s.RunUntil(timeAfter(30 * time.Second))
	assert.Equal(t, `0s check a/c/Liveness of 1 hang
1s check a/c/Liveness ended
1s event Warning Unhealthy: Liveness probe of container c failed: no answer within 1s
10s check a/c/Liveness of 1 hang
11s check a/c/Liveness ended
11s event Warning Unhealthy: Liveness probe of container c failed: no answer within 1s
11s a/c Liveness of 1: false no answer within 1s
`, w.takeLines())
	assert.Equal(t, verdict.Failure, w.p.Verdict("a", "1", verdict.Liveness))
}

func TestAttempt_PR21_WarningIsASuccess(t *testing.T) {
	w, s, _ := newSimulation(t)
	w.setResult("a/c/Readiness", "warn")
	w.p.AddPod(aPod("a", "r"))
	w.observeStart("a", "1")
	s.RunUntil(timeAfter(time.Second))
	assert.Equal(t, `0s check a/c/Readiness of 1 warn
0s event Warning ProbeWarning: Readiness probe warning: odd
0s a/c Readiness of 1: true odd
`, w.takeLines())
}

// I21: the checks of a removed pod are cancelled at once, and their results are dropped (PR-18). A pod
// that is being deleted has no liveness probe (PR-8).
func TestRemovePod_PR18_CancelsWhatRuns(t *testing.T) {
	w, s, p := newSimulation(t)
	pod := aPod("a", "l")
	pod.Spec.Containers[0].LivenessProbe.TimeoutSeconds = 100
	for name, end := range map[string]func(){
		"removed":            func() { w.p.RemovePod("a") },
		"cleaned up":         func() { w.p.CleanupPods(func(uid types.UID) bool { return uid == "b" }) },
		"stopped":            func() { w.p.StopLivenessAndStartup("a") },
		"not running":        func() { w.observeExit("a", "1") },
		"another one":        func() { w.setResult("a/c/Liveness", "pass"); w.observeStart("a", "2") },
		"added when deleted": func() { d := pod.DeepCopy(); d.DeletionTimestamp = &metav1.Time{}; w.p.AddPod(d) },
	} {
		w.setResult("a/c/Liveness", "hang")
		w.p.AddPod(pod)
		w.observeStart("a", "1")
		s.RunUntil(s.Now().Add(time.Second))
		assert.Equal(t, 3, p.Running(), "the loop, the attempt and its deadline")
		w.takeLines()
		end()
		s.RunUntil(s.Now().Add(2 * time.Second))
		assert.Equal(t, 1, p.Running(), name)
		assert.Contains(t, w.takeLines(), "check a/c/Liveness ended", name)
		w.p.RemovePod("a")
	}
	assert.Equal(t, verdict.Unknown, w.p.Verdict("a", "1", verdict.Liveness))
	assert.Equal(t, verdict.Unknown, w.p.Verdict("a", "1", 99))
}

// A probe makes one check at a time, as the one goroutine that a kubelet has for it. A check that ignores the end
// of its context delays the next one, also if the container was replaced meanwhile, or the pod was removed and
// added again.
func TestAttempt_PR1_HungChecksDoNotOverlap(t *testing.T) {
	pod := aPod("a", "l")
	for name, replace := range map[string]func(w *harness, id string){
		"replaced": func(w *harness, id string) { w.observeStart("a", id) },
		"stopped and replaced": func(w *harness, id string) {
			w.observeExit("a", "1")
			w.observeStart("a", id)
		},
		"the same runs again": func(w *harness, id string) {
			if id != "5" {
				id = "1"
			}
			w.observeExit("a", "1")
			w.observeStart("a", id)
		},
		"removed and added": func(w *harness, id string) {
			w.p.RemovePod("a")
			w.p.AddPod(pod)
			w.observeStart("a", id)
		},
		"observed before it is added": func(w *harness, id string) {
			w.p.RemovePod("a")
			w.observeStart("a", id)
			w.p.AddPod(pod)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, s, _ := newSimulation(t)
			w.setResult("a/c/Liveness", "deaf") // For an hour.
			w.p.AddPod(pod)
			w.observeStart("a", "1")
			s.RunUntil(timeAfter(time.Minute))
			require.Equal(t, 1, w.countCalls("a/c/Liveness"))
			for _, id := range []string{"2", "3", "4", "5"} {
				replace(w, id)
				s.RunUntil(s.Now().Add(time.Minute))
			}
			w.setResult("a/c/Liveness", "fail")
			assert.Equal(t, 1, w.mostRunning())
			w.takeLines()
			s.RunUntil(timeAfter(time.Hour + time.Second))
			assert.Equal(t, "1h0m0s check a/c/Liveness of 5 fail\n1h0m0s event Warning Unhealthy: Liveness probe of container c failed: no\n", w.takeLines())
			w.p.RemovePod("a")
			s.RunUntil(timeAfter(2 * time.Hour))
			assert.Empty(t, w.takeLines())
			assert.Equal(t, 1, w.mostRunning())
		})
	}
}

// A check that hangs while its pod is removed is followed by no other.
func TestRemovePod_HungCheckIsTheLast(t *testing.T) {
	w, s, _ := newSimulation(t)
	w.setResult("a/c/Liveness", "deaf")
	w.p.AddPod(aPod("a", "l"))
	w.observeStart("a", "1")
	s.RunUntil(timeAfter(time.Minute))
	w.p.RemovePod("a")
	s.RunUntil(timeAfter(3 * time.Hour))
	assert.Equal(t, 1, w.countCalls("a/c/Liveness"))
}

// CleanupPods keeps a pod that is added or observed while it calls keep. It removes all other pods for
// which keep returns false, whether they were added or only observed.
func TestCleanupPods_HeardOfMeanwhile(t *testing.T) {
	w, s, _ := newSimulation(t)
	for _, uid := range []string{"added", "gone", "observed", "wanted"} {
		w.p.AddPod(aPod(uid, "r"))
		w.observeStart(uid, "1")
	}
	w.observeStart("never added", "1")
	s.RunUntil(timeAfter(time.Second))
	var asked []types.UID
	w.p.CleanupPods(func(uid types.UID) bool {
		asked = append(asked, uid)
		switch uid {
		case "added":
			w.p.AddPod(aPod("added", "r"))
			w.p.AddPod(aPod("new", "r"))
			w.observeStart("new", "1")
		case "observed":
			w.observeStart("observed", "1")
		}
		return uid == "wanted"
	})
	assert.Equal(t, []types.UID{"added", "gone", "never added", "observed", "wanted"}, asked)
	s.RunUntil(timeAfter(2 * time.Second))
	w.p.AddPod(aPod("never added", "r"))
	s.RunUntil(timeAfter(3 * time.Second))
	for uid, want := range map[types.UID]verdict.Value{
		"added": verdict.Success, "observed": verdict.Success, "wanted": verdict.Success, "new": verdict.Success,
		"gone": verdict.Unknown, "never added": verdict.Unknown,
	} {
		assert.Equal(t, want, w.p.Verdict(uid, "1", verdict.Readiness), uid)
	}
}

// Checks that the end of Run cancels do not count as failures.
func TestRun_EndIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, nil)
		w.setResult("a/c/Liveness", "hang")
		w.setResult("b/c/Readiness", "pass")
		w.p.AddPod(aPod("a", "l"))
		w.observeStart("a", "1")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.p.Run(ctx) }()
		time.Sleep(time.Second / 2)
		assert.ErrorIs(t, w.p.Run(ctx), runtime.ErrSecondRun)
		assert.ErrorIs(t, w.p.Step(ctx), prober.ErrRunning)
		cancel()
		require.NoError(t, <-ended)
		assert.Equal(t, "0s check a/c/Liveness of 1 hang\n500ms check a/c/Liveness ended\n", w.takeLines())
		assert.ErrorIs(t, w.p.Step(ctx), context.Canceled)

		// Step works after Run. A second Run does not.
		err := w.p.Run(t.Context())
		assert.ErrorIs(t, err, runtime.ErrSecondRun)
		assert.EqualError(t, err, "prober: Run was called a second time")
		time.Sleep(time.Second)
		w.p.AddPod(aPod("b", "r"))
		w.observeStart("b", "1")
		assert.NoError(t, w.p.Step(t.Context()))
		assert.Equal(t, verdict.Success, w.p.Verdict("b", "1", verdict.Readiness))
	})
}

// Checks that ignore their context delay the end of Run, and its error names them. It does not name
// checks that return.
func TestRun_I43_NamesTheStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, nil, func(c *prober.Config) { c.DrainTimeout = 5 * time.Second })
		for _, uid := range []string{"b", "a"} {
			w.setResult(uid+"/c/Liveness", "deaf")
			w.p.AddPod(aPod(uid, "l"))
			w.observeStart(uid, "1")
		}
		w.setResult("c/c/Liveness", "hang")
		w.p.AddPod(aPod("c", "l"))
		w.observeStart("c", "1")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.p.Run(ctx) }()
		time.Sleep(10 * time.Second)
		assert.Equal(t, 1, w.countCalls("a/c/Liveness"), "no second one beside it")
		w.p.RemovePod("b") // Its check goes on all the same.
		cancel()
		err := <-ended
		require.ErrorIs(t, err, prober.ErrNotDrained)
		assert.EqualError(t, err, "prober: checks ignore that their context has ended: "+
			"Liveness probe of container c of ns/a, Liveness probe of container c of ns/b")
		assert.Equal(t, 15*time.Second, time.Since(w.begun))
		time.Sleep(time.Hour) // The checks return, and their results are dropped.
		assert.Equal(t, verdict.Success, w.p.Verdict("a", "1", verdict.Liveness))
	})
}

// A negative DrainTimeout makes Run wait until the last check has returned.
func TestRun_I43_WaitsForEverIfToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, nil, func(c *prober.Config) { c.DrainTimeout = -1 })
		w.setResult("a/c/Liveness", "deaf")
		w.p.AddPod(aPod("a", "l"))
		w.observeStart("a", "1")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.NoError(t, w.p.Run(ctx))
		assert.Equal(t, time.Hour, time.Since(w.begun))
	})
}

// At most MaxProbes attempts run at once. The oldest due probe goes first.
func TestRun_Limit(t *testing.T) {
	w, s, _ := newSimulation(t, func(c *prober.Config) { c.MaxProbes = 3 })
	for i := range 9 {
		uid := fmt.Sprint(i)
		w.setResult(uid+"/c/Readiness", "500ms")
		w.p.AddPod(aPod(uid, "r"))
		w.observeStart(uid, uid)
	}
	s.RunUntil(timeAfter(2 * time.Second))
	assert.Equal(t, 3, w.mostRunning())
	var order []string
	for line := range strings.Lines(w.takeLines()) {
		if strings.Contains(line, "check") {
			order = append(order, strings.Fields(line)[0])
		}
	}
	assert.Equal(t, "0s 0s 0s 500ms 500ms 500ms 1s 1s 1s", strings.Join(order, " "))
}

// Probes whose last attempt reached its timeout use at most half of MaxProbes.
func TestRun_HangingPodsDoNotHoldUpOthers(t *testing.T) {
	w, s, _ := newSimulation(t, func(c *prober.Config) { c.MaxProbes = 4 })
	for i := range 8 {
		uid := fmt.Sprint("hangs", i)
		w.setResult(uid+"/c/Readiness", "hang")
		pod := aPod(uid, "r")
		pod.Spec.Containers[0].ReadinessProbe.TimeoutSeconds = 9
		w.p.AddPod(pod)
		w.observeStart(uid, uid)
	}
	s.RunUntil(timeAfter(20 * time.Second))
	w.p.AddPod(aPod("good", "r"))
	w.observeStart("good", "1")
	w.takeLines()
	s.RunUntil(timeAfter(120 * time.Second))
	assert.Equal(t, 11, w.countCalls("good/c/Readiness"), "each of its ticks, and at once")
	assert.Equal(t, 4, w.mostRunning())
	for i := range 8 {
		assert.Positive(t, w.countCalls(fmt.Sprintf("hangs%d/c/Readiness", i)), "none is left out")
	}
}

// I49: a prober without due probes takes no step.
func TestRun_I49_IdleCostsNothing(t *testing.T) {
	w, s, _ := newSimulation(t)
	w.p.AddPod(aPod("a", "lr"))
	s.RunUntilIdle()
	before := s.Steps()
	s.RunUntil(timeAfter(24 * time.Hour))
	assert.Equal(t, before, s.Steps())
	_, due := w.p.Next()
	assert.False(t, due)
}

// AddPod uses an observation that came before it.
func TestObserve_BeforeAddPod(t *testing.T) {
	w, s, _ := newSimulation(t)
	w.observeStart("a", "1")
	w.p.AddPod(aPod("a", "r"))
	s.RunUntil(timeAfter(time.Second))
	assert.Equal(t, verdict.Success, w.p.Verdict("a", "1", verdict.Readiness))
}

// PR-1: adding a pod again adds new probes and does not change the others (PR-19).
func TestAddPod_PR1(t *testing.T) {
	w, s, _ := newSimulation(t)
	w.p.AddPod(aPod("a", "r"))
	w.observeStart("a", "1")
	s.RunUntil(timeAfter(time.Second))
	again := aPod("a", "rl")
	again.Spec.Containers[0].ReadinessProbe.PeriodSeconds = 1
	w.p.AddPod(again)
	s.RunUntil(timeAfter(10 * time.Second))
	assert.Equal(t, 2, w.countCalls("a/c/Readiness"))
	assert.Equal(t, 1, w.countCalls("a/c/Liveness"))
}

// Sidecars are probed. Ordinary init containers are not, also if their spec has probes.
func TestAddPod_WhichContainers(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	w, s, _ := newSimulation(t)
	pod := aPod("a", "")
	pod.Spec.InitContainers = []v1.Container{
		{Name: "init", LivenessProbe: &v1.Probe{}},
		{Name: "side", LivenessProbe: &v1.Probe{}, RestartPolicy: &always},
	}
	w.p.AddPod(pod)
	w.p.Observe("a", prober.Observed{Containers: []prober.Container{
		{Name: "init", ID: "1", Running: true}, {Name: "side", ID: "2", Running: true}, {Name: "c", ID: "3", Running: true},
	}})
	s.RunUntil(timeAfter(5 * time.Second))
	assert.Equal(t, "5s check a/side/Liveness of 2 \n", w.takeLines(), "and its start is unknown: PR-3")
}

// Results are delivered in order, also if Config.Result causes another one. A panic in Config.Result
// affects only one result.
func TestResult_Reentry(t *testing.T) {
	var got []string
	var w *harness
	w, s, _ := newSimulation(t, func(c *prober.Config) {
		c.Result = func(r prober.Result) {
			got = append(got, fmt.Sprintf("%v %v", r.Kind, r.Success))
			if len(got) == 1 {
				w.observeExit("a", "1")
				got = append(got, "left")
				panic("boom")
			}
		}
	})
	w.p.AddPod(aPod("a", "rl"))
	w.observeStart("a", "1")
	s.RunUntil(timeAfter(time.Second))
	assert.Equal(t, []string{"Readiness true", "left", "Liveness false", "Readiness false"}, got)
}

// jumpy is a clock whose time can jump while timers do not fire, as for a suspended process.
type jumpy struct {
	clock.RealClock
	by *atomic.Int64 // nanoseconds
}

func (j jumpy) Now() time.Time { return j.RealClock.Now().Add(time.Duration(j.by.Load())) }

// F78: after a suspension of an hour the probes do not all run at once. A check that reached its
// timeout during the suspension does not count.
func TestRun_F78_Suspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by atomic.Int64
		w := newHarness(t, jumpy{by: &by})
		for i := range 10 {
			uid := fmt.Sprint(i)
			w.p.AddPod(aPod(uid, "r"))
			w.observeStart(uid, uid)
			w.p.Observe(types.UID(uid), prober.Observed{})
		}
		hangs := aPod("hangs", "l")
		hangs.Spec.Containers[0].LivenessProbe.FailureThreshold = 1
		w.p.AddPod(hangs)
		w.observeStart("hangs", "1")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.p.Run(ctx) }()
		time.Sleep(9500 * time.Millisecond)
		w.setResult("hangs/c/Liveness", "hang")
		time.Sleep(800 * time.Millisecond) // The check at 10 s hangs.
		w.takeLines()
		by.Store(int64(time.Hour))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		lines := w.takeLines()
		assert.Contains(t, lines, "resumed after")
		assert.Contains(t, lines, "the process was stopped during the check")
		assert.NotContains(t, lines, "Liveness of 1: false")
		assert.Equal(t, 2, w.countCalls("0/c/Readiness"), "no storm")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		assert.Equal(t, 3, w.countCalls("0/c/Readiness"), "but the next tick")
		cancel()
		require.NoError(t, <-ended)
	})
}

// Step makes the due attempts and returns.
func TestStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, nil, func(c *prober.Config) { c.MaxProbes = 2 })
		for i := range 5 {
			w.setResult(fmt.Sprintf("%d/c/Readiness", i), "500ms")
			w.p.AddPod(aPod(fmt.Sprint(i), "r"))
			w.observeStart(fmt.Sprint(i), "1")
		}
		require.NoError(t, w.p.Step(t.Context()))
		assert.Equal(t, 2, w.mostRunning())
		next, ok := w.p.Next()
		assert.True(t, ok)
		assert.Equal(t, 10*time.Second, next.Sub(w.begun))
		w.takeLines()
		require.NoError(t, w.p.Step(t.Context()))
		assert.Empty(t, w.takeLines())
	})
}

func TestNew_NamesEveryFault(t *testing.T) {
	_, err := prober.New(prober.Config{MaxProbes: -1})
	assert.ErrorContains(t, err, "Check is missing")
	assert.ErrorContains(t, err, "MaxProbes is negative")
}

func TestOutcome_String(t *testing.T) {
	assert.Equal(t, "None Passed Warned Failed None", fmt.Sprint(prober.CheckResult(0), prober.Passed, prober.Warned, prober.Failed, prober.CheckResult(9)))
}
