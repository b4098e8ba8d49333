package podsync_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
)

// killed is a pod of any shape that is stopped by any number of calls, and what
// must have come of it by the rules alone.
type killed struct {
	*story
	rt       *rapid.T
	sidecars []string
	mains    []string
	deadline time.Time // of the kill, by the calls so far
	ended    map[string]bool
}

// I6, I7, I32, I33 for generated pods: whatever hooks do, however often the grace
// is shortened, whichever stop fails.
func TestKill_I6_I7_I32_I33(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := &killed{story: newStory(t), rt: rt, ended: map[string]bool{}}
		k.drawPod()
		k.createContainers()
		k.faultStops()
		for range rapid.IntRange(0, 3).Draw(rt, "calls that are cut") {
			k.terminatePod(rapid.IntRange(0, 40).Draw(rt, "cut"))
			k.advanceTime(rapid.IntRange(0, 5).Draw(rt, "pause"))
		}
		for i := 0; !k.terminatePod(-1); i++ {
			require.Less(t, i, 20, "it never ends:\n%s", k.out.String())
		}
		k.onceEach()
	})
}

// drawPod draws a random pod.
func (k *killed) drawPod() {
	k.pod = &v1.Pod{}
	k.pod.Name, k.pod.Namespace, k.pod.UID, k.pod.Annotations = "p", "ns", "u", map[string]string{}
	for i := range rapid.IntRange(0, 3).Draw(k.rt, "sidecars") {
		c := k.drawContainer(fmt.Sprintf("s%d", i))
		c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		k.pod.Spec.InitContainers = append(k.pod.Spec.InitContainers, c)
		k.sidecars = append(k.sidecars, c.Name)
	}
	for i := range rapid.IntRange(1, 3).Draw(k.rt, "mains") {
		c := k.drawContainer(fmt.Sprintf("m%d", i))
		k.pod.Spec.Containers = append(k.pod.Spec.Containers, c)
		k.mains = append(k.mains, c.Name)
	}
	k.pod.Spec.TerminationGracePeriodSeconds = new(int64(rapid.IntRange(0, 60).Draw(k.rt, "grace")))
}

func (k *killed) drawContainer(name string) v1.Container {
	k.pod.Annotations["memory.podkeel.dev/"+name] = rapid.SampledFrom([]string{
		"run=forever", "run=forever ignore-term", "run=7s exit=0",
	}).Draw(k.rt, name+" script")
	c := v1.Container{Name: name, Image: "img:1"}
	hook := rapid.SampledFrom([]string{"none", "exec", "sleep"}).Draw(k.rt, name+" hook")
	switch seconds := rapid.IntRange(0, 30).Draw(k.rt, name+" hook takes"); hook {
	case "exec":
		ensureLifecycle(&c).PreStop = k.parseHandler([]string{"exec", "bye"})
		k.hooks[name+" "+string(runtime.PreStopHook)] = hookScript{
			takes: time.Duration(seconds) * time.Second, fail: rapid.Bool().Draw(k.rt, name+" fails"), hang: seconds == 30,
		}
	case "sleep":
		ensureLifecycle(&c).PreStop = k.parseHandler([]string{"sleep", fmt.Sprint(seconds)})
	}
	return c
}

func (k *killed) faultStops() {
	for range rapid.IntRange(0, 3).Draw(k.rt, "stops that fail") {
		_, err := k.faults.Add(faulty.Rule{
			Verb: "StopContainer", UID: "u", Container: rapid.SampledFrom(slices.Concat(k.sidecars, k.mains)).Draw(k.rt, "whose"),
			Do: faulty.Fail, Times: 1,
		})
		require.NoError(k.t, err)
	}
}

func (k *killed) advanceTime(seconds int) {
	k.b.s.RunUntil(k.b.s.Now().Add(time.Duration(seconds) * time.Second))
}

// terminatePod makes one call, checks the rules, and reports whether the pod has stopped.
func (k *killed) terminatePod(cut int) bool {
	k.observePod()
	for _, c := range k.last.Containers {
		k.ended[c.Name] = k.ended[c.Name] || c.State == runtime.StateExited
	}
	var override *int64
	if rapid.Bool().Draw(k.rt, "override") {
		override = new(int64(rapid.IntRange(1, 80).Draw(k.rt, "seconds")))
	}
	grace := *k.pod.Spec.TerminationGracePeriodSeconds
	if override != nil {
		grace = *override
	}
	began := k.b.s.Now()
	by := began.Add(time.Duration(grace) * time.Second)
	if k.deadline.IsZero() || by.Before(k.deadline) {
		k.deadline = by
	}
	ctx, cancel := executor.WithCancel(podworkers.WithIncarnation(context.Background(), 1))
	defer cancel()
	var at []due
	if cut >= 0 {
		at = append(at, due{began.Add(time.Duration(cut) * time.Second), cancel})
	}
	from := len(k.tap.calls)
	var err error
	hangs := k.b.runCall(func() { err = k.syncer.SyncTerminatingPod(ctx, k.pod, k.last, override, nil) }, at...)
	require.False(k.rt, hangs)
	k.keptGrace(k.tap.calls[from:])
	k.keptOrder(k.tap.calls[from:])
	latest := k.deadline
	if latest.Before(began) {
		latest = began
	}
	require.LessOrEqual(k.rt, k.b.s.Now(), latest.Add(2*time.Second), "I7")
	return err == nil
}

// keptGrace checks that each stop has the rest of the grace period, and two seconds at least (I6, I7,
// KC-13). No hook starts after the deadline, and no hook runs longer than its container may (KC-12).
func (k *killed) keptGrace(calls []tapped) {
	for _, c := range calls {
		switch c.verb {
		case "StopContainer":
			var name, grace string
			_, err := fmt.Sscanf(c.what, "%s grace=%s", &name, &grace)
			require.NoError(k.rt, err)
			require.Equal(k.rt, max(k.deadline.Sub(c.began), 2*time.Second).String(), grace, c.what)
		case "RunHandler":
			require.True(k.rt, c.began.Before(k.deadline) && !c.ended.After(k.deadline.Add(2*time.Second)), c.what)
		}
	}
}

// keptOrder: a sidecar is stopped when all that come before it have been, or when
// the grace is over (I33).
func (k *killed) keptOrder(calls []tapped) {
	served := map[string]time.Time{}
	for _, c := range calls { // In the order in which they returned.
		name := containerOf(c)
		if i := slices.Index(k.sidecars, name); i >= 0 && c.verb == "StopContainer" && c.began.Before(k.deadline) {
			for _, before := range slices.Concat(k.mains, k.sidecars[i+1:]) {
				at, ok := served[before]
				require.True(k.rt, k.ended[before] || ok && !at.After(c.began), "%s is stopped before %s", name, before)
			}
		}
		if c.verb == "StopContainer" {
			served[name] = c.ended
		}
	}
}

// onceEach: over all calls a hook is run once, and begins before the signal (I32). The signal
// waits for it until the grace is over.
func (k *killed) onceEach() {
	told := map[string]tapped{}
	for _, c := range k.tap.calls {
		if name := containerOf(c); c.verb == "RunHandler" {
			require.NotContains(k.rt, told, name, "the hook is called twice")
			told[name] = c
		}
	}
	for _, c := range k.tap.calls {
		if hook, has := told[containerOf(c)]; has && c.verb == "StopContainer" {
			require.False(k.rt, hook.began.After(c.began), "%s is told late", c.what)
			require.False(k.rt, hook.ended.After(c.began) && c.began.Before(k.deadline), "%s is stopped before its hook has ended", c.what)
		}
	}
}

func containerOf(c tapped) string {
	name, _, _ := strings.Cut(c.what, "/")
	return name
}
