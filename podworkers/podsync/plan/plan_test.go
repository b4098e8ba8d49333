package plan_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// BelongsToOtherPod reads the annotations of the newest sandbox of the incarnation. A missing
// annotation does not make it true.
func TestIsAnothers(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready\nsandbox 1 ready\nsandbox 7 ready incarnation=2")
	mine := plan.PodHash(w.pod)
	for name, tc := range map[string]struct {
		hashes [3]string
		want   bool
	}{
		"its own":             {[3]string{"v1-1", mine, "v1-1"}, false},
		"another's":           {[3]string{mine, "v2-1", mine}, true},
		"none":                {[3]string{"v1-1", "", "v1-1"}, false},
		"another version":     {[3]string{"v1-1", "v3-1", "v1-1"}, false},
		"of a former version": {[3]string{"v3-1", "v1-1", "v3-1"}, true},
		"not a fingerprint":   {[3]string{"v1-1", "v1-zz", "v1-1"}, false},
	} {
		for i, h := range tc.hashes {
			w.st.Sandboxes[i].Annotations = map[string]string{plan.PodHashAnnotation: h}
		}
		assert.Equal(t, tc.want, plan.BelongsToOtherPod(w.st, 1, w.pod), name)
	}
	assert.False(t, plan.BelongsToOtherPod(w.st, 3, w.pod), "no sandbox of that life")
}

// TestBelongsToOtherPod_F97_Name: records under the UID that have another name are another pod's, even if
// the specs are equal. A runtime that does not say the name proves nothing.
func TestIsAnothers_F97_Name(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready")
	w.st.Sandboxes[0].Annotations = map[string]string{plan.PodHashAnnotation: plan.PodHash(w.pod)}
	for name, tc := range map[string]struct {
		name, namespace string
		want            bool
	}{
		"its own":           {w.pod.Name, w.pod.Namespace, false},
		"another name":      {"other", w.pod.Namespace, true},
		"another namespace": {w.pod.Name, "other", true},
		"no name":           {"", "", false},
		"no namespace":      {w.pod.Name, "", false},
	} {
		w.st.Name, w.st.Namespace = tc.name, tc.namespace
		assert.Equal(t, tc.want, plan.BelongsToOtherPod(w.st, 1, w.pod), name)
	}
}

// TestFormerSandboxes_F97: what earlier incarnations have left is given once none of it runs.
func TestFormerSandboxes_F97(t *testing.T) {
	box := func(id string, incarnation uint64) runtime.SandboxStatus {
		return runtime.SandboxStatus{Sandbox: runtime.Sandbox{ID: id, Incarnation: incarnation}}
	}
	container := func(incarnation uint64, state runtime.State) runtime.ContainerStatus {
		return runtime.ContainerStatus{Container: runtime.Container{Incarnation: incarnation, State: state}}
	}
	st := &runtime.PodStatus{
		Sandboxes:  []runtime.SandboxStatus{box("c", 3), box("b", 2), box("a", 1)},
		Containers: []runtime.ContainerStatus{container(3, runtime.StateRunning), container(2, runtime.StateExited), container(1, runtime.StateExited)},
	}
	assert.Equal(t, []string{"b", "a"}, plan.FormerSandboxes(st, 3))
	assert.Empty(t, plan.FormerSandboxes(st, 1))
	for _, state := range []runtime.State{runtime.StateCreated, runtime.StateRunning, runtime.StateUnknown} {
		st.Containers[2].State = state
		assert.Empty(t, plan.FormerSandboxes(st, 3), state)
	}
}

// PH-14: at most one address of a family, the node's family first.
func TestStatus_PH14_Addresses(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready")
	w.st.Sandboxes[0].IPs = []string{"10.0.0.1", "10.0.0.2", "fd00::1"}
	in := w.statusInput(false)
	in.HostIPs = []string{"fd00::99", "192.0.2.1"}
	s := plan.Status(in)
	assert.Equal(t, []v1.PodIP{{IP: "fd00::1"}, {IP: "10.0.0.1"}}, s.PodIPs)
	assert.Equal(t, "fd00::1", s.PodIP)
	assert.Equal(t, "fd00::99", s.HostIP)
	assert.Len(t, s.HostIPs, 2)
}

// As long as the family of the node is not known, IPv4 comes first, as in the kubelet.
func TestStatus_PH14_NoHostIPs(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready")
	w.st.Sandboxes[0].IPs = []string{"fd00::1", "10.0.0.1", "10.0.0.2"}
	in := w.statusInput(false)
	in.HostIPs = nil
	s := plan.Status(in)
	assert.Equal(t, []v1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}, s.PodIPs)
	assert.Equal(t, "10.0.0.1", s.PodIP)
}

// What others write to a status, besides conditions, passes through.
func TestStatus_FieldsOfOthers(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready\na 0 running")
	claim := "claim"
	theirs := v1.PodStatus{
		NominatedNodeName:                    "n",
		ResourceClaimStatuses:                []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim}},
		ExtendedResourceClaimStatus:          &v1.PodExtendedResourceClaimStatus{ResourceClaimName: claim},
		NodeAllocatableResourceClaimStatuses: []v1.NodeAllocatableResourceClaimStatus{{ResourceClaimName: claim}},
	}
	w.pod.Status = theirs
	s := plan.Status(w.statusInput(false))
	assert.Equal(t, theirs, v1.PodStatus{
		NominatedNodeName: s.NominatedNodeName, ResourceClaimStatuses: s.ResourceClaimStatuses,
		ExtendedResourceClaimStatus: s.ExtendedResourceClaimStatus, NodeAllocatableResourceClaimStatuses: s.NodeAllocatableResourceClaimStatuses,
	})
}

// A second family may be added to a host-network pod, the first address stays.
func TestStatus_PH14_HostNetworkKeepsFirst(t *testing.T) {
	w := newHarness(t, "pod host\nsandbox 0 ready host\nold ip=192.0.2.77")
	in := w.statusInput(false)
	in.HostIPs = []string{"192.0.2.1", "fd00::99"}
	assert.Equal(t, []v1.PodIP{{IP: "192.0.2.77"}, {IP: "fd00::99"}}, plan.Status(in).PodIPs)
}

// PH-12: conditions of others pass through, DisruptionTarget comes from what we
// published; P12: readiness gates.
func TestStatus_PH12_Conditions(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready\na 0 running\nold phase=Running")
	w.pod.Generation = 7
	w.pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/lb"}}
	w.pod.Status.Conditions = []v1.PodCondition{
		{Type: "example.com/lb", Status: v1.ConditionFalse, Reason: "Theirs"},
		{Type: v1.PodReady, Status: v1.ConditionTrue, Reason: "Stale"},
		{Type: v1.DisruptionTarget, Status: v1.ConditionFalse},
	}
	w.old.Conditions = []v1.PodCondition{
		{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: "example.com/lb", Status: v1.ConditionTrue, Reason: "Stale"},
		{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "Evicted"},
	}
	s := plan.Status(w.statusInput(false))
	var got []string
	for _, c := range s.Conditions {
		got = append(got, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	assert.Equal(t, []string{
		"PodReadyToStartContainers=True/", "Initialized=True/", "Ready=False/ReadinessGatesNotReady", "ContainersReady=True/",
		"PodScheduled=True/", "DisruptionTarget=True/Evicted", "example.com/lb=False/Theirs",
	}, got)
	assert.Equal(t, int64(7), s.ObservedGeneration)
	w.pod.Status.Conditions[0].Status = v1.ConditionTrue
	assert.Equal(t, v1.ConditionTrue, plan.Status(w.statusInput(false)).Conditions[2].Status)
}

// F61, I27: times that a runtime has got wrong never make an end without a
// beginning, or before it.
func TestStatus_F61_Times(t *testing.T) {
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	for name, tc := range map[string]struct{ started, finished, wantStart, wantEnd time.Time }{
		"in order":      {at(1), at(2), at(1), at(2)},
		"never started": {time.Time{}, at(2), at(2), at(2)},
		"backwards":     {at(3), at(2), at(2), at(2)},
		"no end":        {at(3), time.Time{}, at(3), at(3)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, "sandbox 0 ready\na 0 exited=1")
			w.st.Containers[0].StartedAt, w.st.Containers[0].FinishedAt = tc.started, tc.finished
			end := plan.Status(w.statusInput(false)).ContainerStatuses[0].State.Terminated
			assert.Equal(t, metav1.NewTime(tc.wantStart), end.StartedAt)
			assert.Equal(t, metav1.NewTime(tc.wantEnd), end.FinishedAt)
		})
	}
}

func TestStatus_CS13_Names(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready\na 0 running")
	c := plan.Status(w.statusInput(false)).ContainerStatuses[0]
	assert.Equal(t, "test://a0", c.ContainerID)
	assert.Equal(t, "img@sha256", c.ImageID)
	assert.Equal(t, "img", c.Image)
	w.st.Containers[0].Image = "" // Not every runtime tells.
	assert.Equal(t, "img", plan.Status(w.statusInput(false)).ContainerStatuses[0].Image)
	w.st.Containers[0].Image = "before:1"
	assert.Equal(t, "before:1", plan.Status(w.statusInput(false)).ContainerStatuses[0].Image, "what runs, not what is wanted")
}

// TestStatus_CS15_VolumeMounts: the status has the mounts of the spec also before the container exists. A read-only mount
// is recursive if it requests that, is not propagated, and the runtime supports it. A published list stays while the
// container exists, and is the list of the new status. Before, it follows what the runtime supports.
func TestStatus_CS15_VolumeMounts(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready")
	w.pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{
		{Name: "v", MountPath: "/rw"}, {Name: "v", MountPath: "/ro", ReadOnly: true},
		{Name: "v", MountPath: "/disabled", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyDisabled)},
		{Name: "v", MountPath: "/possible", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyIfPossible)},
		{Name: "v", MountPath: "/enabled", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyEnabled), MountPropagation: new(v1.MountPropagationNone)},
		{Name: "v", MountPath: "/propagated", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyEnabled), MountPropagation: new(v1.MountPropagationHostToContainer)},
	}
	modes := func(s v1.PodStatus) (all []string) {
		for _, m := range s.ContainerStatuses[0].VolumeMounts {
			mode := "none"
			if m.RecursiveReadOnly != nil {
				mode = string(*m.RecursiveReadOnly)
			}
			all = append(all, fmt.Sprintf("%s %s %t %s", m.Name, m.MountPath, m.ReadOnly, mode))
		}
		return all
	}
	in := w.statusInput(false)
	assert.Equal(t, []string{
		"v /rw false none", "v /ro true Disabled", "v /disabled true Disabled", "v /possible true Disabled", "v /enabled true Disabled", "v /propagated true Disabled",
	}, modes(plan.Status(in)))
	in.RecursiveReadOnly = true
	first := plan.Status(in)
	assert.Equal(t, []string{
		"v /rw false none", "v /ro true Disabled", "v /disabled true Disabled", "v /possible true Enabled", "v /enabled true Enabled", "v /propagated true Disabled",
	}, modes(first))
	in.Old = &first
	again := plan.Status(in)
	assert.Same(t, &first.ContainerStatuses[0], &again.ContainerStatuses[0], "an equal list is shared")
	in.RecursiveReadOnly = false
	assert.NotEqual(t, modes(first), modes(plan.Status(in)), "a list that was published before the container exists follows the runtime")
	in.RecursiveReadOnly, in.Runtime = true, newHarness(t, "sandbox 0 ready\na 0 running").st
	running := plan.Status(in)
	in.RecursiveReadOnly, in.Old = false, &running
	again = plan.Status(in)
	assert.Same(t, &running.ContainerStatuses[0], &again.ContainerStatuses[0], "the list stays while the container exists")
	old := running.DeepCopy()
	in.Old, in.Runtime = running.DeepCopy(), newHarness(t, "sandbox 0 ready\na 0 exited=1").st
	assert.Equal(t, modes(running), modes(plan.Status(in)), "the list stays while the container exists, also if the state changes")
	in.Old, in.Runtime = running.DeepCopy(), newHarness(t, "sandbox 0 ready\na 0 exited=1\na 1 running").st
	assert.Equal(t, modes(running), modes(plan.Status(in)), "the list stays for the next attempt")
	old.ContainerStatuses[0].VolumeMounts = nil
	in.Old = old
	assert.Len(t, modes(plan.Status(in)), 6, "a list that is not published is added")
	w.pod.Spec.Containers[0].VolumeMounts = nil
	in.Old = nil
	assert.Nil(t, plan.Status(in).ContainerStatuses[0].VolumeMounts)
}

// CS-3: the runtime's word on how it ended, if it has one.
func TestStatus_CS3_Reason(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready\na 0 exited=137")
	w.st.Containers[0].Reason, w.st.Containers[0].Message = "OOMKilled", "why"
	end := plan.Status(w.statusInput(false)).ContainerStatuses[0].State.Terminated
	assert.Equal(t, "OOMKilled", end.Reason)
	assert.Equal(t, "why", end.Message)
}

// An attempt beyond what a status can say is the most that it can.
func TestStatus_RestartCountBound(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready\na 0 running")
	w.st.Containers[0].Attempt = math.MaxUint32
	assert.EqualValues(t, math.MaxInt32, plan.Status(w.statusInput(false)).ContainerStatuses[0].RestartCount)
}

// P1, P6, P12: the messages of conditions name the containers and the readiness gates.
func TestStatus_ConditionMessages(t *testing.T) {
	w := newHarness(t, "pod init=i,j main=y,x\nsandbox 0 ready\ni 0 exited=0")
	w.pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "one"}, {ConditionType: "two"}, {ConditionType: "three"}}
	messages := func() map[string]string {
		m := map[string]string{}
		for _, c := range plan.Status(w.statusInput(false)).Conditions {
			m[string(c.Type)] = c.Message
		}
		return m
	}
	got := messages()
	assert.Equal(t, "containers with incomplete status: [j]", got["Initialized"])
	assert.Equal(t, "containers with unready status: [y x]", got["ContainersReady"])
	assert.Equal(t, got["ContainersReady"], got["Ready"], "gates are asked when all else is ready")

	w.readLine("j", []string{"0", "exited=0"})
	w.readLine("y", []string{"0", "running"})
	w.readLine("x", []string{"0", "running"})
	w.pod.Status.Conditions = []v1.PodCondition{{Type: "three", Status: v1.ConditionTrue}, {Type: "one", Status: v1.ConditionFalse}}
	assert.Equal(t, `the status of pod readiness gate "one" is not "True", but False, corresponding condition of pod readiness gate "two" does not exist.`, messages()["Ready"])
}

// A container that was published as running and has no record has vanished. This holds for every kind
// of container, and for few and many records.
func TestVanished(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"it runs":                   {"old a running\na 0 running", false},
		"it has ended":              {"old a running\na 0 exited=0", false},
		"a regular one":             {"old a running\nb 0 running", true},
		"one has an older try":      {"old a running restarts=1 id=a1\na 0 exited=1", true},
		"it is a later one":         {"old a running restarts=1 id=a1\na 1 running", false},
		"it is counted higher":      {"old a running restarts=2 id=a1\na 1 running", false},
		"one that had ended":        {"old a exited=0", false},
		"of an earlier incarnation": {"old a running\na 0 running incarnation=1\nsandbox 1 ready incarnation=2", true},
		"an init container":         {"pod init=i\nold i running", true},
		"an ephemeral one":          {"pod ephemeral=e\nold e running", true},
		"an ephemeral one runs":     {"pod ephemeral=e\nold e running\ne 0 running", false},
	} {
		for _, crowd := range []int{0, 100} {
			w := newHarness(t, "sandbox 0 ready\n"+tc.text)
			for i := range crowd {
				w.readLine(fmt.Sprintf("x%d", i), []string{"0", "running"})
			}
			assert.Equal(t, tc.want, plan.HasVanishedContainer(w.st, w.planInput()), "%s, among %d", name, crowd)
		}
	}
}

// Nothing but a pod and no records is a legal input.
func TestDecideAndStatus_NoStatus(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}}}}
	a := groupActions(pod, plan.Decide(pod, nil, plan.Input{}))
	assert.Equal(t, plan.WhyNoSandbox, a.CreateSandbox)
	assert.Equal(t, v1.PodPending, plan.Status(plan.StatusInput{Pod: pod}).Phase)
}

// Random pods in random states: what must hold of every decision.
func TestDecide_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomHarness(t)
		before := fmt.Sprintf("%+v", *w.st)
		a := w.decideActions()
		checkStarts(t, w, &a)
		require.Equal(t, before, fmt.Sprintf("%+v", *w.st), "the status is shared and was written to")
		s := plan.Status(w.statusInput(rapid.Bool().Draw(t, "terminal")))
		require.Len(t, s.ContainerStatuses, len(w.pod.Spec.Containers))
		require.Len(t, s.InitContainerStatuses, len(w.pod.Spec.InitContainers))
		again := w.statusInput(false)
		again.Old = &s
		checkForward(t, &s, new(plan.Status(again)))
	})
}

// randomHarness draws a pod and its records.
func randomHarness(t *rapid.T) *harness {
	var text strings.Builder
	fmt.Fprintf(&text, "pod policy=%s init=i,j main=a,b\n", rapid.SampledFrom([]string{"Always", "OnFailure", "Never"}).Draw(t, "policy"))
	sandboxes := rapid.IntRange(0, 2).Draw(t, "sandboxes")
	for n := range sandboxes {
		fmt.Fprintf(&text, "sandbox %d %s\n", n, rapid.SampledFrom([]string{"ready", "lost"}).Draw(t, "sandbox"))
	}
	if sandboxes > 0 {
		for _, name := range []string{"i", "j", "a", "b"} {
			for attempt := range rapid.IntRange(0, 3).Draw(t, name) {
				state := rapid.SampledFrom([]string{"running", "created", "unknown", "exited=0", "exited=1"}).Draw(t, "state")
				in := rapid.IntRange(0, sandboxes-1).Draw(t, "in")
				fmt.Fprintf(&text, "%s %d %s in=%d\n", name, attempt, state, in)
			}
		}
	}
	for _, name := range []string{"a", "b"} {
		if state := rapid.SampledFrom([]string{"", "running", "exited=0", "exited=1"}).Draw(t, "old"); state != "" {
			fmt.Fprintf(&text, "old %s %s restarts=1\n", name, state)
		}
	}
	return newHarness(t, text.String())
}

func checkStarts(t *rapid.T, w *harness, a *actions) {
	killed := map[string]bool{}
	for _, k := range a.Kill {
		killed[k.ID] = true
	}
	require.LessOrEqual(t, len(a.Init), 1, "ordinary init containers run one by one")
	if len(a.Init) > 0 {
		require.Empty(t, a.Containers, "a regular container must wait (I29)")
	}
	if a.KillPod != "" && a.CreateSandbox == "" {
		require.Empty(t, append(a.Init, a.Containers...), "started in what is killed")
	}
	for _, s := range append(a.Init, a.Containers...) {
		for i := range w.st.Containers {
			rec := &w.st.Containers[i]
			if rec.Name != s.Name {
				continue
			}
			require.Greater(t, s.Attempt, rec.Attempt, "the attempt was used before")
			if rec.State == runtime.StateRunning {
				require.True(t, a.KillPod != "" || killed[rec.ID], "%s runs and is started (I37)", rec.ID)
			}
			if rec.State == runtime.StateCreated {
				require.Contains(t, s.Created, rec.ID)
			}
		}
	}
	checkPolicy(t, w, a)
}

// checkPolicy: I30, what may not run again does not, whatever happens around it.
func checkPolicy(t *rapid.T, w *harness, a *actions) {
	policy := w.pod.Spec.RestartPolicy
	for _, s := range a.Containers {
		newest := newestOf(w.st, s.Name)
		if newest == nil || newest.State != runtime.StateExited {
			continue
		}
		require.NotEqual(t, v1.RestartPolicyNever, policy, "%s ran", newest.ID)
		if publishedAfter(w.old, newest) {
			continue // What came after it, and whose record is lost, decides.
		}
		if policy == v1.RestartPolicyOnFailure {
			require.NotZero(t, newest.ExitCode, "%s has succeeded", newest.ID)
		}
	}
}

// publishedAfter reports whether the published attempt is later than the attempt of the record.
func publishedAfter(published *v1.PodStatus, rec *runtime.ContainerStatus) bool {
	if published == nil {
		return false
	}
	for _, s := range published.ContainerStatuses {
		if s.Name == rec.Name && s.RestartCount > int32(rec.Attempt) {
			return true
		}
	}
	return false
}

func newestOf(st *runtime.PodStatus, name string) *runtime.ContainerStatus {
	var found *runtime.ContainerStatus
	for i := range st.Containers {
		if c := &st.Containers[i]; c.Name == name && (found == nil || c.Attempt > found.Attempt) {
			found = c
		}
	}
	return found
}

// checkForward: I26, I27, said again of the same records nothing goes back.
func checkForward(t *rapid.T, old, now *v1.PodStatus) {
	if plan.IsTerminal(old.Phase) {
		require.Equal(t, old.Phase, now.Phase)
	}
	for i := range old.ContainerStatuses {
		was, is := &old.ContainerStatuses[i], &now.ContainerStatuses[i]
		require.GreaterOrEqual(t, is.RestartCount, was.RestartCount)
		if was.State.Terminated != nil {
			require.NotNil(t, is.State.Terminated, "%s has ended", was.Name)
		}
	}
}

// benchmarkHarness is a pod with 2 init containers, 2 sidecars, 5 containers and 6
// probes that runs, with some history.
func benchmarkHarness(b *testing.B) *harness {
	return newHarness(b, `pod init=i,s*,j,t* main=a,b,c,d,e
		spec s startup liveness
		spec a startup liveness
		spec b liveness readiness
		sandbox 0 ready
		i 0 exited=0
		s 0 running
		j 0 exited=0
		t 0 running
		a 0 exited=1
		a 1 running
		b 0 running
		c 0 running
		d 0 running
		e 0 running
		initialized s0
		probed s0 startup=Success liveness=Success
		probed a1 startup=Success liveness=Success
		probed b0 liveness=Success
		old i exited=0
		old s running
		old j exited=0
		old t running
		old a running restarts=1
		old b running
		old c running
		old d running
		old e running`)
}

func BenchmarkDecideUnchanged(b *testing.B) {
	w := benchmarkHarness(b)
	in := w.planInput()
	in.Memory = plan.Decide(w.pod, w.st, in).Memory
	b.ReportAllocs()
	for b.Loop() {
		if a := plan.Decide(w.pod, w.st, in); len(a.Steps) > 0 {
			b.Fatal(a)
		}
	}
}

// Starts have the held ones in their places: ephemeral containers first, then the spec's order.
func TestDecision_StartsAreInTheirOrder(t *testing.T) {
	w := newHarness(t, "pod main=a,b ephemeral=e\nsandbox 0 ready\na 0 exited=1\nheld a 80s")
	d := plan.Decide(w.pod, w.st, w.planInput())
	var names []string
	for _, s := range d.Starts(w.pod) {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"e", "a", "b"}, names)
	assert.Len(t, d.Steps, 2)
	assert.Len(t, d.Held, 1)
}
