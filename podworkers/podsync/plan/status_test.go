package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// P33: a status without containers says that it knows none.
func TestConclude_P33_NoContainerStatuses(t *testing.T) {
	w := newHarness(t, "pod init=i\nsandbox 0 ready")
	var s v1.PodStatus
	s = plan.CompleteStatus(w.statusInput(false), s)
	assert.Equal(t, v1.PodPending, s.Phase)
	for _, c := range s.Conditions {
		if c.Type == v1.PodInitialized || c.Type == v1.PodReady || c.Type == v1.ContainersReady {
			assert.Equal(t, v1.ConditionFalse, c.Status, c.Type)
			assert.Equal(t, "UnknownContainerStatuses", c.Reason, c.Type)
		}
	}
	w = newHarness(t, "pod init=s* main=a,b\nsandbox 0 ready\na 0 running\nb 0 running\ns 0 running")
	s = plan.ContainerStatuses(w.statusInput(false))
	s.ContainerStatuses = s.ContainerStatuses[:1]
	s = plan.CompleteStatus(w.statusInput(false), s)
	assert.Equal(t, v1.PodPending, s.Phase, "of one nothing is said (PH-4)")
	s = plan.ContainerStatuses(w.statusInput(false))
	s.InitContainerStatuses = nil
	s = plan.CompleteStatus(w.statusInput(false), s)
	assert.Equal(t, v1.PodPending, s.Phase, "of a sidecar nothing is said (PH-3)")
	w.pod.Spec.InitContainers[0].RestartPolicy = nil
	s = plan.CompleteStatus(w.statusInput(false), s)
	assert.Equal(t, v1.PodPending, s.Phase, "of an init container nothing is said (PH-1)")
}

// A container that runs in an older sandbox is not ready, whatever its probes say, because it does not have the
// address of the pod. The prober sets Started and Ready of every container before the status is complete.
func TestStatus_OlderSandboxIsNotReady(t *testing.T) {
	w := newHarness(t, "pod main=a,b init=s*,i\nsandbox 0 lost\nsandbox 1 ready\ns 0 running in=0\ni 0 exited=0 in=1\na 0 running in=0\nb 0 running in=1")
	in := w.statusInput(false)
	s := plan.ContainerStatuses(in)
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			role := podstatus.RoleLasting
			if list[i].Name == "i" {
				role = podstatus.RoleInit
			}
			podstatus.SetProbed(role, &list[i], true, true)
		}
	}
	s = plan.CompleteStatus(in, s)
	ready := map[string]bool{}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		ready[c.Name] = c.Ready
	}
	assert.Equal(t, map[string]bool{"s": false, "i": true, "a": false, "b": true}, ready)
	for _, c := range s.Conditions {
		if c.Type == v1.ContainersReady || c.Type == v1.PodReady {
			assert.Equal(t, v1.ConditionFalse, c.Status, c.Type)
		}
	}
}

// The published start time never changes. Without one the oldest sandbox of the incarnation has it, so
// that a restart of the agent does not extend activeDeadlineSeconds.
func TestContainers_StartTime(t *testing.T) {
	start := func(text string, change ...func(*harness)) *metav1.Time {
		w := newHarness(t, text)
		for _, f := range change {
			f(w)
		}
		return plan.ContainerStatuses(w.statusInput(false)).StartTime
	}
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: epoch.Add(d)} }
	assert.Nil(t, start(""), "whoever stores it knows")
	assert.Equal(t, at(3*time.Second), start("sandbox 1 ready at=5s\nsandbox 0 lost at=3s\nsandbox 0 lost incarnation=0 at=1s"))
	published := func(w *harness) { w.old = &v1.PodStatus{StartTime: at(time.Hour)} }
	assert.Equal(t, at(time.Hour), start("sandbox 0 ready at=5s", published))
	came := func(w *harness) { w.pod.Status.StartTime = at(time.Minute) }
	assert.Equal(t, at(time.Minute), start("sandbox 0 ready at=5s", came), "from the API")
	assert.Nil(t, start("sandbox 0 ready", func(w *harness) { w.st.Sandboxes[0].CreatedAt = time.Time{} }), "a runtime that does not tell")
}

// CS-11: AllocatedResources has the requests, and Resources has the resources in the spec.
func TestContainers_CS11_Resources(t *testing.T) {
	w := newHarness(t, "pod main=a,b init=i\nsandbox 0 ready\na 0 running")
	requests := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	limits := v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")}
	w.pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: requests, Limits: limits}
	w.pod.Spec.InitContainers[0].Resources = v1.ResourceRequirements{Limits: limits}
	s := plan.ContainerStatuses(w.statusInput(false))
	assert.Equal(t, requests, s.ContainerStatuses[0].AllocatedResources)
	require.NotNil(t, s.ContainerStatuses[0].Resources)
	assert.Equal(t, w.pod.Spec.Containers[0].Resources, *s.ContainerStatuses[0].Resources)
	assert.Nil(t, s.ContainerStatuses[1].AllocatedResources)
	assert.Nil(t, s.ContainerStatuses[1].Resources, "nothing was asked for")
	assert.Nil(t, s.InitContainerStatuses[0].AllocatedResources)
	assert.Equal(t, limits, s.InitContainerStatuses[0].Resources.Limits)
}

// RZ-50: a running container without requests and limits has Resources, and they are empty. An API server takes nil as
// a node that cannot resize pods, and refuses each resize of the pod. Nil in a published status is replaced.
func TestContainers_RZ50_NoRequests(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready\na 0 running\nold a running")
	w.old.ContainerStatuses[0].Resources = nil
	s := plan.ContainerStatuses(w.statusInput(false))
	assert.Equal(t, &v1.ResourceRequirements{}, s.ContainerStatuses[0].Resources)
	assert.Nil(t, s.ContainerStatuses[0].AllocatedResources)
}

// What a status says is of the generation that was looked at.
func TestStatus_ObservedGeneration(t *testing.T) {
	w := newHarness(t, "")
	w.pod.Generation = 7
	s := plan.Status(w.statusInput(false))
	assert.EqualValues(t, 7, s.ObservedGeneration)
	for _, c := range s.Conditions {
		assert.EqualValues(t, 7, c.ObservedGeneration, c.Type)
	}
}

// An ID that was published serves again, and only that one.
func TestContainers_ContainerID(t *testing.T) {
	for published, want := range map[string]string{
		"": "test://a0", "test://a0": "test://a0", "test://a01": "test://a0", "other://a0": "test://a0", "testa0": "test://a0",
	} {
		w := newHarness(t, "sandbox 0 ready\na 0 exited=1\na 1 running\nold a running last=1@x")
		w.st.Containers = w.st.Containers[:1]
		w.old.ContainerStatuses[0].ContainerID = published
		w.old.ContainerStatuses[0].LastTerminationState.Terminated.ContainerID = published
		assert.Equal(t, want, plan.ContainerStatuses(w.statusInput(false)).ContainerStatuses[0].ContainerID, published)
	}
}

// For two statuses in a row, of any pod in any two states: a final termination stays, and no restart
// count decreases.
func TestStatus_Properties(t *testing.T) {
	states := rapid.SampledFrom([]string{"", "created", "running", "unknown", "exited=0", "exited=1", "exited=42"})
	rapid.Check(t, func(t *rapid.T) {
		text := "pod init=i,s* main=b,a ephemeral=e policy=" +
			rapid.SampledFrom([]string{"Always", "OnFailure", "Never"}).Draw(t, "policy") + "\nspec a policy=Never rule=RestartAllContainers/In/42\n"
		records := func(attempts ...string) string {
			harness := "sandbox 0 " + rapid.SampledFrom([]string{"ready", "lost"}).Draw(t, "sandbox") + "\n"
			for _, name := range []string{"i", "s", "a", "b", "e"} {
				for _, attempt := range attempts {
					if state := states.Draw(t, name); state != "" {
						harness += name + " " + attempt + " " + state + "\n"
					}
				}
			}
			return harness
		}
		first := plan.Status(newHarness(t, text+records("0", "1")).statusInput(false))
		w := newHarness(t, text+records("2", "3"))
		w.old = &first
		second := plan.Status(w.statusInput(rapid.Bool().Draw(t, "terminal")))
		if plan.IsTerminal(first.Phase) && second.Phase != first.Phase {
			t.Fatalf("%s after %s", second.Phase, first.Phase)
		}
		was, is := containersOf(&first), containersOf(&second)
		for i := range was {
			if is[i].Name != was[i].Name || is[i].RestartCount < was[i].RestartCount {
				t.Fatalf("%s: %d after %s: %d", is[i].Name, is[i].RestartCount, was[i].Name, was[i].RestartCount)
			}
			if hasEnded(was[i]) && !hasEnded(is[i]) {
				t.Fatalf("%s: its termination is no longer shown", is[i].Name)
			}
		}
	})
}

func containersOf(s *v1.PodStatus) []v1.ContainerStatus {
	return slices.Concat(s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses)
}

func hasEnded(c v1.ContainerStatus) bool {
	return c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
}

// largeHarness is the pod by which the speed is measured: everything of it is on
// and was published so.
func largeHarness(b failer) *harness {
	w := newHarness(b, `pod init=i,j,s*,r* main=a,b,c,d,e
		sandbox 0 ready
		i 0 exited=0
		j 0 exited=0
		s 0 running
		r 0 running
		a 0 running
		b 0 running
		c 0 running
		d 0 exited=1
		d 1 running
		e 0 running`)
	old := plan.Status(w.statusInput(false))
	old.StartTime = &metav1.Time{Time: epoch}
	w.old = &old
	return w
}

// The figure: what to say of a pod and what to do with it, where nothing changes.
func BenchmarkPlanUnchanged(b *testing.B) {
	w := largeHarness(b)
	say, do := w.statusInput(false), w.planInput()
	do.Memory = plan.Decide(w.pod, w.st, do).Memory
	b.ReportAllocs()
	for b.Loop() {
		s := plan.ContainerStatuses(say)
		s = plan.CompleteStatus(say, s)
		do.Published = &s
		if a := plan.Decide(w.pod, w.st, do); len(a.Steps) > 0 || s.Phase != v1.PodRunning {
			b.Fatal(a, s)
		}
	}
}

func BenchmarkStatusUnchanged(b *testing.B) {
	in := largeHarness(b).statusInput(false)
	b.ReportAllocs()
	for b.Loop() {
		if s := plan.Status(in); s.Phase != v1.PodRunning {
			b.Fatal(s)
		}
	}
}
