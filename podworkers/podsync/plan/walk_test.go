package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/internal/proportion"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// Random lives of random pods: decisions are carried out, or cut short, while
// containers end, sandboxes are lost and agents restart.
func TestDecide_Walk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := newWalk(t)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			k.changeRandomly()
			if k.publishStatus() {
				return
			}
			k.step(true)
		}
		k.settle()
	})
}

// walk is a pod, its runtime, and what a syncer would remember.
type walk struct {
	*harness
	t       *rapid.T
	sandbox uint32          // the next attempt
	used    map[string]int  // by name: the highest attempt so far
	passed  map[string]bool // by init container: it is done, or started, in the sandbox
	unlucky bool            // calls may fail
}

func newWalk(t *rapid.T) *walk {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	var text strings.Builder
	fmt.Fprintf(&text, "pod policy=%s init=%s main=a,b ephemeral=e\n", pick("policy", "Always", "OnFailure", "Never"),
		pick("init", "s*,i,t*", "i,j", "s*,t*", "i,s*", "s*,i"))
	for _, c := range []string{"a", "b"} {
		fmt.Fprintf(&text, "spec %s liveness=5\n", c)
		if p := pick("own policy", "", "Always", "OnFailure", "Never"); p != "" {
			fmt.Fprintf(&text, "spec %s policy=%s\n", c, p)
			fmt.Fprint(&text, pick("rule", "", "spec "+c+" rule=Restart/In/42\n", "spec "+c+" rule=RestartAllContainers/In/42\n"))
		}
	}
	w := newHarness(t, text.String())
	for i := range w.pod.Spec.InitContainers {
		if c := &w.pod.Spec.InitContainers[i]; c.RestartPolicy != nil && rapid.Bool().Draw(t, "startup") {
			c.StartupProbe = &v1.Probe{}
		}
	}
	return &walk{harness: w, t: t, used: map[string]int{}, passed: map[string]bool{}}
}

// changeRandomly changes the pod without a call of the agent.
func (k *walk) changeRandomly() {
	running := k.recordsInState(runtime.StateRunning)
	switch what := rapid.IntRange(0, 9).Draw(k.t, "what"); {
	case what < 6 && len(running) > 0:
		k.exitContainer(rapid.SampledFrom(running).Draw(k.t, "who"), int32(rapid.SampledFrom([]int{0, 0, 1, 42}).Draw(k.t, "code")))
	case what == 6:
		k.loseSandbox()
	case what == 7:
		k.initialized = "" // The agent restarts.
	case what == 8:
		k.pod.DeletionTimestamp = &metav1.Time{Time: epoch}
	}
	for _, rec := range running {
		k.probed[rec.ID] = plan.Probed{
			Startup:  rapid.SampledFrom([]plan.Verdict{plan.NoVerdict, plan.Success, plan.Success, plan.Failure}).Draw(k.t, "startup"),
			Liveness: rapid.SampledFrom([]plan.Verdict{plan.NoVerdict, plan.Success, plan.Success, plan.Failure}).Draw(k.t, "liveness"),
		}
	}
	k.unlucky = rapid.IntRange(0, 3).Draw(k.t, "unlucky") == 0
}

func (k *walk) recordsInState(state runtime.State) (found []*runtime.ContainerStatus) {
	for i := range k.st.Containers {
		if k.st.Containers[i].State == state {
			found = append(found, &k.st.Containers[i])
		}
	}
	return found
}

func (k *walk) exitContainer(rec *runtime.ContainerStatus, code int32) {
	rec.State, rec.ExitCode, rec.FinishedAt = runtime.StateExited, code, epoch.Add(time.Second)
	if init := k.init(rec.Name); init != nil && init.RestartPolicy == nil && code == 0 {
		k.passed[rec.Name] = true
	}
}

func (k *walk) init(name string) *v1.Container {
	for i := range k.pod.Spec.InitContainers {
		if c := &k.pod.Spec.InitContainers[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// loseSandbox stops the sandbox and its containers.
func (k *walk) loseSandbox() {
	for _, rec := range k.recordsInState(runtime.StateRunning) {
		k.exitContainer(rec, 137)
	}
	for i := range k.st.Sandboxes {
		k.st.Sandboxes[i].Ready = false
	}
}

// publishStatus publishes how the pod is, and reports whether it has ended.
func (k *walk) publishStatus() bool {
	k.old = new(plan.Status(k.statusInput(false)))
	require.Equal(k.t, *k.old, plan.Status(k.statusInput(false)), "what was published is published as it is")
	return plan.IsTerminal(k.old.Phase)
}

// step decides and does it; it may be cut short.
func (k *walk) step(mayFail bool) actions {
	a := k.decideActions()
	require.Equal(k.t, a, k.decideActions(), "the same world, another decision")
	k.check(&a)
	k.initialized = ""
	if a.Initialized {
		k.initialized = a.SandboxID
	}
	if len(a.Reset) > 0 {
		k.passed = map[string]bool{}
	}
	for _, reset := range a.Reset {
		if mayFail && k.unlucky && rapid.Bool().Draw(k.t, "cut short") {
			return a
		}
		for _, rec := range k.recordsInState(runtime.StateCreated) {
			if rec.ID == reset.ID {
				delete(k.used, rec.Name) // What never ran leaves no log behind: its number is free.
			}
		}
		k.remove(reset.ID)
	}
	k.cleanUp(&a)
	if a.CreateSandbox != "" {
		require.GreaterOrEqual(k.t, a.SandboxAttempt, k.sandbox)
		k.readLine("sandbox", []string{fmt.Sprint(a.SandboxAttempt), "ready"})
		k.sandbox, k.passed = a.SandboxAttempt+1, map[string]bool{}
	}
	for _, s := range slices.Concat(a.Ephemeral, a.Init, a.Containers) {
		k.start(s, mayFail)
	}
	return a
}

// check: what must hold of a decision on its own.
func (k *walk) check(a *actions) {
	starts := slices.Concat(a.Ephemeral, a.Init, a.Containers)
	if k.pod.DeletionTimestamp != nil {
		require.Empty(k.t, starts, "started for a deleted pod")
		require.Empty(k.t, a.CreateSandbox)
		require.Empty(k.t, a.Reset)
	}
	if len(a.Reset) > 0 {
		require.Equal(k.t, actions{Reset: a.Reset, SandboxID: a.SandboxID}, *a, "a reset stands for itself")
	}
	for i, s := range a.Init {
		if s.Container.RestartPolicy == nil { // RS-7: so nothing goes on if it fails.
			require.Len(k.t, a.Init, i+1, "an init container is started before one that it needs has ended")
			require.Empty(k.t, a.Containers, "a regular container is started before the pod is initialized")
		}
	}
	for _, s := range starts {
		require.NotEmpty(k.t, s.Reason)
	}
	for _, kill := range slices.Concat(a.Kill, a.Reset) {
		require.NotEmpty(k.t, kill.Reason)
	}
}

// cleanUp does what comes before starts.
func (k *walk) cleanUp(a *actions) {
	if a.KillPod != "" {
		k.loseSandbox()
	}
	for _, kill := range a.Kill {
		for i := range k.st.Containers {
			if k.st.Containers[i].ID == kill.ID {
				k.exitContainer(&k.st.Containers[i], 137)
			}
		}
	}
	for _, id := range a.Prune {
		k.remove(id)
	}
}

func (k *walk) remove(id string) {
	before := len(k.st.Containers)
	k.st.Containers = slices.DeleteFunc(k.st.Containers, func(c runtime.ContainerStatus) bool { return c.ID == id })
	require.Len(k.t, k.st.Containers, before-1, "%s was not there to be removed", id)
}

// start starts a container, or fails to after its record was made.
func (k *walk) start(s plan.Held, mayFail bool) {
	name := s.Name
	for _, id := range s.Created {
		k.remove(id)
	}
	for _, rec := range k.recordsInState(runtime.StateRunning) {
		require.NotEqual(k.t, name, rec.Name, "it runs (I37)")
	}
	if highest, ok := k.used[name]; ok {
		require.Greater(k.t, int(s.Attempt), highest, "%s: the number was used", name)
		require.False(k.t, name == "e" && k.passed[name], "an ephemeral container runs once (CA-6)")
	}
	k.used[name] = int(s.Attempt)
	state := "running"
	if mayFail && k.unlucky && rapid.Bool().Draw(k.t, "start fails") {
		state = "created"
	}
	k.readLine(name, []string{fmt.Sprint(s.Attempt), state})
	switch init := k.init(name); {
	case name == "e":
		k.passed[name] = state == "running"
	case init != nil && s.Container.RestartPolicy != nil:
		k.passed[name] = k.passed[name] || state == "running"
	case init == nil:
		for _, c := range k.pod.Spec.InitContainers {
			require.True(k.t, k.passed[c.Name], "%s is started before %s is done (I29)", name, c.Name)
		}
	}
}

// settle runs the pod without faults until a decision has no steps.
func (k *walk) settle() {
	k.unlucky = false
	for range 40 {
		for _, rec := range k.recordsInState(runtime.StateRunning) {
			k.probed[rec.ID] = plan.Probed{Startup: plan.Success, Liveness: plan.Success}
			if init := k.init(rec.Name); init != nil && init.RestartPolicy == nil {
				k.exitContainer(rec, 0)
			}
		}
		if k.publishStatus() || k.pod.DeletionTimestamp != nil {
			return
		}
		if a := k.step(false); a.Idle() {
			k.rest()
			return
		}
	}
	require.Fail(k.t, "it does not come to rest", "%+v", k.st.Containers)
}

// rest: everything runs that has to.
func (k *walk) rest() {
	runs := map[string]bool{}
	for _, rec := range k.recordsInState(runtime.StateRunning) {
		runs[rec.Name] = true
	}
	for _, c := range k.pod.Spec.InitContainers {
		require.Equal(k.t, c.RestartPolicy != nil, runs[c.Name], c.Name)
	}
	require.True(k.t, runs["a"] || runs["b"], "a pod of which nothing runs has ended")
}

// A pod of any size is decided in time in proportion to it.
func TestDecide_Size(t *testing.T) {
	for name, tc := range map[string]struct{ main, init, records string }{
		"all run":     {"c", "", "%s 0 running"},
		"all new":     {"c", "", ""},
		"all crashed": {"c", "", "%s 0 exited=1"},
		"all created": {"c", "", "%s 0 created"},
		"init chain":  {"c", "i", "%s 0 exited=0"},
	} {
		t.Run(name, func(t *testing.T) {
			work := func(n int) func() {
				w := sized(t, tc.main, tc.init, tc.records, n)
				in := w.planInput()
				return func() { plan.Decide(w.pod, w.st, in) }
			}
			proportion.Check(t, work(200), work(3200), 16)
		})
	}
}

// sized is a pod of n containers.
func sized(t *testing.T, main, init, records string, n int) *harness {
	w := newHarness(t, "sandbox 0 ready")
	w.pod.Spec.Containers = nil
	w.old = &v1.PodStatus{}
	for i := range n {
		name := fmt.Sprintf("%s%d", main, i)
		w.pod.Spec.Containers = append(w.pod.Spec.Containers, v1.Container{Name: name, Image: "img"})
		if init != "" {
			name = fmt.Sprintf("%s%d", init, i)
			w.pod.Spec.InitContainers = append(w.pod.Spec.InitContainers, v1.Container{Name: name, Image: "img"})
		}
		if records != "" {
			f := strings.Fields(fmt.Sprintf(records, name))
			c := runtime.ContainerStatus{Container: runtime.Container{ID: name, Name: name, SandboxID: "s0", Incarnation: 1}}
			w.setState(&c, f[2])
			w.st.Containers = append(w.st.Containers, c)
		}
		w.old.ContainerStatuses = append(w.old.ContainerStatuses, v1.ContainerStatus{Name: name})
	}
	return w
}

func BenchmarkDecideLarge(b *testing.B) {
	w := newHarness(b, "sandbox 0 ready")
	w.pod.Spec.Containers = nil
	for i := range 1000 {
		name := fmt.Sprintf("c%d", i)
		w.pod.Spec.Containers = append(w.pod.Spec.Containers, v1.Container{Name: name, Image: "img"})
		w.readLine(name, []string{"0", "running"})
	}
	in := w.planInput()
	b.ReportAllocs()
	for b.Loop() {
		if a := plan.Decide(w.pod, w.st, in); len(a.Steps) > 0 {
			b.Fatal(a)
		}
	}
}
