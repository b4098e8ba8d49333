package nodetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// phaseAndReason answers with the phase and its reason.
func phaseAndReason(s *v1.PodStatus) string {
	if s.Reason == "" {
		return string(s.Phase)
	}
	return fmt.Sprintf("%s %s", s.Phase, s.Reason)
}

// TestMuseum_K126343_APodThatEndedIsNotAdmittedAgain: an agent that started again asked for admission of
// pods that had ended, and rejected one since the labels of the node had changed: Succeeded became
// Failed.
func TestMuseum_K126343_APodThatEndedIsNotAdmittedAgain(t *testing.T) {
	labels := map[string]string{"disk": "ssd"}
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Pods: node.PodsConfig{FromAPIServer: true}}, Configure: func(c *node.Config) { c.Scheduling.Labels = labels }})
	job := newPod("job", []string{"sleep", "3"})
	job.Spec.RestartPolicy, job.Spec.NodeSelector = v1.RestartPolicyNever, map[string]string{"disk": "ssd"}
	b.Apply(job)
	b.Run(10 * time.Second)
	b.Crash()
	loseNewest(t, b, "job", "c0") // Nothing but the status tells that it has ended.
	require.NoError(t, b.Machine().LoseSandbox(newestSandbox(t, b, "job")))
	labels = nil
	b.RestartWithStatuses()
	b.Run(time.Minute)
	assert.Equal(t, []string{"0s Running", "3s Succeeded"}, statusLines(b, "job", phaseAndReason))
	assert.Empty(t, callLines(b, "event"+" NodeAffinity"))
	b.Stop()
}

// finishes is a sink that records the pods whose node has reported that it has finished them.
type finishes []string

func (f *finishes) Send(_ context.Context, u status.Update) error {
	if u.Finished && u.Pod != nil {
		*f = append(*f, fmt.Sprintf("%s %s", u.Pod.Name, u.Status.Phase))
	}
	return nil
}

// TestMuseum_K116954_ACompletedPodGoes: a pod had ended, and was deleted while no agent ran. The next one
// did not know it and gave it no worker, so that the API server got no report that the node has
// finished with it, and it stayed for ever.
func TestMuseum_K116954_ACompletedPodGoes(t *testing.T) {
	var told finishes
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Pods: node.PodsConfig{FromAPIServer: true}, Statuses: node.StatusesConfig{Sink: &told}}})
	job := newPod("job", []string{"sleep", "3"})
	job.Spec.RestartPolicy = v1.RestartPolicyNever
	b.Apply(job)
	b.Run(10 * time.Second)
	last := b.Pod("job").Status
	b.Crash()
	loseNewest(t, b, "job", "c0")
	require.NoError(t, b.Machine().LoseSandbox(newestSandbox(t, b, "job")))
	told = nil
	job = job.DeepCopy()
	job.Status, job.DeletionTimestamp, job.DeletionGracePeriodSeconds = last, &metav1.Time{Time: b.Now()}, new(int64(30))
	b.Apply(job)
	b.Start()
	b.Run(time.Minute)
	require.NotEmpty(t, told)
	assert.Equal(t, "job Succeeded", told[0])
	b.Stop()
}

// TestMuseum_K104531_PhasesAtAShutdown: a container that exits with 0 on TERM made its pod Succeeded when
// the node shut down, so that its job counted as done. What we end has Failed. (Also 106901.)
func TestMuseum_K104531_PhasesAtAShutdown(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	for _, policy := range []v1.RestartPolicy{v1.RestartPolicyNever, v1.RestartPolicyOnFailure, v1.RestartPolicyAlways} {
		p := setAnswers(newPod("p-"+strings.ToLower(string(policy)), []string{"serve"}), "c0", "run=forever exit=0")
		p.Spec.RestartPolicy = policy
		b.Apply(p)
	}
	b.Run(10 * time.Second)
	require.NoError(t, b.Node().Drain(context.Background(), node.DrainOptions{Groups: []node.ShutdownGroup{{Period: 30 * time.Second}}}))
	b.Run(time.Second)
	for _, name := range []string{"p-never", "p-onfailure", "p-always"} {
		assert.Equal(t, []string{"0s Running", "10s Failed Terminated"}, statusLines(b, name, phaseAndReason), name)
	}
	b.Stop()
}

// TestMuseum_K109537_OurKillIsNoSuccess: a container under OnFailure was ended since its liveness probe
// failed, and exited with 0. The pod was Completed though it was ill.
func TestMuseum_K109537_OurKillIsNoSuccess(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(podFailingLiveness())
	b.Run(10 * time.Minute)
	assert.Equal(t, []string{"0s Running"}, statusLines(b, "job", phaseOf))
	assert.Greater(t, len(callLines(b, "StartContainer")), 4)
	b.Stop()
}

// TestMuseum_K88613_TerminalOnlyWhenNothingRuns: the phase was Failed, with reason DeadlineExceeded, while
// containers still ran, and a controller started the next pod beside them.
func TestMuseum_K88613_TerminalOnlyWhenNothingRuns(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := setAnswers(newPod("web", []string{"serve"}), "c0", "run=forever ignore-term")
	p.Spec.ActiveDeadlineSeconds, p.Spec.TerminationGracePeriodSeconds = new(int64(10)), new(int64(20))
	b.Apply(p)
	b.Run(time.Minute)
	assert.Equal(t, []string{"0s Running", "30s Failed DeadlineExceeded"}, statusLines(b, "web", phaseAndReason))
	assert.Equal(t, []string{"30s StopContainer c0 grace=20s"}, callLines(b, "StopContainer"))
	b.Stop()
}

// TestMuseum_K91923_AStaticPodIsEndedInOrder: a static pod that left its source was terminated like a
// pod that only the runtime knows, without its preStop hook and its grace period. (Also 97722.)
func TestMuseum_K91923_AStaticPodIsEndedInOrder(t *testing.T) {
	files := source.NewHandle()
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
	p := setAnswers(staticPod(1, 25), "c0.pre-stop", "ok takes=5s")
	p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"drain"}}}}
	require.NoError(t, files.Replace([]*v1.Pod{p}))
	b.Run(10 * time.Second)
	require.NoError(t, files.Replace(nil))
	b.Run(time.Minute)
	assert.Equal(t, 1, b.Machine().HandlerCalls(p.UID, "c0", runtime.PreStopHook))
	assert.Equal(t, []string{"35s StopContainer c0 grace=20s"}, callLines(b, "StopContainer"))
	b.Stop()
}

// TestMuseum_K40036_HooksThatGoWrong: a container that ended while its own exec hook ran, and a hook that
// hangs, kept the container from being stopped. The stop goes on. (Also 127339.)
func TestMuseum_K40036_HooksThatGoWrong(t *testing.T) {
	for name, c := range map[string]struct {
		script, hook string
		want         []string
	}{
		"it ends in its hook": {"run=14s exit=0", "hang", []string{"14s StopContainer c0 grace=26s", "14s StopSandbox"}},
		"the hook hangs":      {"run=forever", "hang", []string{"40s StopContainer c0 grace=2s", "40s StopSandbox"}},
		"the hook fails":      {"run=forever", "fail", []string{"10s StopContainer c0 grace=30s", "10s StopSandbox"}},
	} {
		b := nodetest.New(t, nodetest.Config{Seed: 1})
		p := setAnswers(newPod("web", []string{"serve"}), "c0", c.script)
		setAnswers(p, "c0.pre-stop", c.hook)
		p.Spec.RestartPolicy = v1.RestartPolicyNever
		p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"drain"}}}}
		b.Apply(p)
		b.Run(10 * time.Second)
		b.Delete(p.UID)
		b.Run(time.Minute)
		assert.Equal(t, c.want, callLines(b, "StopContainer", "StopSandbox"), name)
		b.Stop()
	}
}

// TestMuseum_K83622_AnInitImageThatCannotBePulled: under Never a pod whose init container had no image was
// Failed, though nothing had run, and was not tried again.
func TestMuseum_K83622_AnInitImageThatCannotBePulled(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Machine().FailPulls("i:1", errors.New("no such image"))
	p := withInit(newPod("web", []string{"serve"}), "i: run=2s exit=0")
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	b.Apply(p)
	b.Run(time.Minute)
	assert.Equal(t, []string{"0s 0/1 Init:ErrImagePull restarts=0", "20s 0/1 Init:ImagePullBackOff restarts=0"}, statusLines(b, "web", nil)[:2])
	assert.Equal(t, []string{"0s Pending"}, statusLines(b, "web", phaseOf))
	b.Machine().FailPulls("i:1", nil)
	b.Run(2 * time.Minute)
	b.AssertPhase("web", v1.PodRunning)
	b.Stop()
}

// TestMuseum_K9s4005_AJobWhoseSidecarWasKilled: the sidecar of a job was killed, and the job never completed, because
// it waited for the sidecar. The regular containers alone decide its phase. (Also kubectl 1739.)
func TestMuseum_K9s4005_AJobWhoseSidecarWasKilled(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := withInit(newPod("job", []string{"sleep", "20"}), "s: run=10s exit=137 reason=OOMKilled")
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	b.Apply(p)
	b.Run(2 * time.Minute)
	assert.Equal(t, []string{"0s Running", "20s Succeeded"}, statusLines(b, "job", phaseOf))
	b.Stop()
}

// TestMuseum_K128845_APortThatIsStillTaken: a static pod with a host port got another namespace. The new
// pod was asked for admission while the old one still ended, and was rejected for its port, for
// ever. A pod that is refused only because of pods that end waits for them.
func TestMuseum_K128845_APortThatIsStillTaken(t *testing.T) {
	files := source.NewHandle()
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
	p := staticPod(1, 20)
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
	require.NoError(t, files.Replace([]*v1.Pod{p}))
	b.Run(10 * time.Second)
	next := p.DeepCopy()
	next.UID, next.Namespace = "static-2", "other"
	require.NoError(t, files.Replace([]*v1.Pod{next}))
	b.Run(time.Minute)
	assert.Equal(t, []string{"10s Pending AdmissionDeferred", "30s Running"}, statusLines(b, "other/static", phaseAndReason))
	b.Stop()
}

// confined notes the AppArmor profiles that containers are made with.
type confined struct {
	runtime.Runtime
	profiles *[]runtime.Profile
}

func (c confined) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	*c.profiles = append(*c.profiles, req.Security.AppArmor)
	return c.Runtime.CreateContainer(ctx, req)
}

// TestMuseum_K123435_TheAppArmorAnnotationOfAStaticPod: only fields were read, and no API server turned the
// annotation of a static pod into one, so that a pod that asked to be confined was not.
func TestMuseum_K123435_TheAppArmorAnnotationOfAStaticPod(t *testing.T) {
	var profiles []runtime.Profile
	files := source.NewHandle()
	b := nodetest.New(t, nodetest.Config{
		Seed: 1, Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}},
		Wrap: func(inner runtime.Runtime, _ clock.Clock) runtime.Runtime { return confined{inner, &profiles} },
	})
	p := staticPod(1, 20)
	p.Annotations["container.apparmor.security.beta.kubernetes.io/c0"] = "localhost/tight"
	require.NoError(t, files.Replace([]*v1.Pod{p}))
	b.Run(10 * time.Second)
	assert.Equal(t, []runtime.Profile{{Type: "Localhost", Path: "tight"}}, profiles)
	b.Stop()
}
