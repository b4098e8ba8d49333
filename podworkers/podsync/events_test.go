package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
)

// notedEvents notes of events what programs read: type, reason, and about what.
type notedEvents []string

func (r *notedEvents) Event(o k8sruntime.Object, kind, reason, _ string) {
	about := "pod"
	if ref, ok := o.(*v1.ObjectReference); ok {
		about = ref.FieldPath
	}
	*r = append(*r, fmt.Sprintf("%s %s %s", kind, reason, about))
}

func (r *notedEvents) Eventf(o k8sruntime.Object, kind, reason, format string, args ...any) {
	r.Event(o, kind, reason, fmt.Sprintf(format, args...))
}

// podOnNode is a pod with its Syncer, runtime and recorded events.
type podOnNode struct {
	machine *memory.Runtime
	faults  *faulty.Faults
	syncer  *podsync.Syncer
	pod     *v1.Pod
}

func (s *podOnNode) syncPod() {
	seen, _ := s.machine.PodStatus(context.Background(), s.pod.UID)
	_, _ = s.syncer.SyncPod(context.Background(), 0, s.pod, nil, seen)
}

func (s *podOnNode) terminatePod() {
	seen, _ := s.machine.PodStatus(context.Background(), s.pod.UID)
	_ = s.syncer.SyncTerminatingPod(context.Background(), s.pod, seen, nil, nil)
}

func (s *podOnNode) failCall(t *testing.T, verb string) {
	_, err := s.faults.Add(faulty.Rule{Verb: verb, Do: faulty.Fail, Times: 1})
	require.NoError(t, err)
}

// noVolumes are volumes that cannot be set up.
type noVolumes struct{ podsync.Volumes }

func (noVolumes) SetUp(context.Context, *v1.Pod) error { return errors.New("no disk") }

func withImage(name string, policy v1.PullPolicy) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = name, policy }
}

func withHooks(l v1.Lifecycle) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Lifecycle = &l
		p.Annotations = map[string]string{memory.AnnotationPrefix + "a.post-start": "fail", memory.AnnotationPrefix + "a.pre-stop": "fail"}
	}
}

// The reason, type and object of each event are the kubelet's, because programs read them.
func TestEvents_Reasons(t *testing.T) {
	const at = " spec.containers{a}"
	up := []string{"Normal Pulling" + at, "Normal Pulled" + at, "Normal Created" + at, "Normal Started" + at}
	exec := &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"x"}}}
	after := func(more ...string) []string { return append(append([]string{}, up...), more...) }
	for name, c := range map[string]struct {
		pod  func(*v1.Pod)
		play func(t *testing.T, s *podOnNode)
		want []string
	}{
		"start": {want: up},
		"init": {
			pod:  func(p *v1.Pod) { p.Spec.InitContainers = []v1.Container{{Name: "i", Image: "img:1"}} },
			want: []string{"Normal Pulling spec.initContainers{i}", "Normal Pulled spec.initContainers{i}", "Normal Created spec.initContainers{i}", "Normal Started spec.initContainers{i}"},
		},
		"pull fails and waits, told once": {
			play: func(_ *testing.T, s *podOnNode) {
				s.machine.FailPulls("img:1", errors.New("no"))
				s.syncPod()
				s.syncPod()
				s.syncPod()
			},
			want: []string{"Normal Pulling" + at, "Warning Failed" + at, "Normal BackOff" + at},
		},
		"crash loop, told once": {
			pod: func(p *v1.Pod) { p.Spec.Containers[0].Command = []string{"false"} },
			play: func(_ *testing.T, s *podOnNode) {
				for range 4 {
					s.syncPod()
				}
			},
			want: after("Normal Pulled"+at, "Normal Created"+at, "Normal Started"+at, "Warning BackOff"+at),
		},
		"never pulled":    {pod: withImage("img:1", v1.PullNever), want: []string{"Warning ErrImageNeverPull" + at}},
		"no image name":   {pod: withImage("UPPER:", ""), want: []string{"Warning InspectFailed" + at}},
		"no inspection":   {play: syncWithFailure(faulty.ImageStatus), want: []string{"Warning InspectFailed" + at}},
		"create fails":    {play: syncWithFailure(faulty.CreateContainer), want: []string{up[0], up[1], "Warning Failed" + at}},
		"run fails":       {play: syncWithFailure(faulty.StartContainer), want: []string{up[0], up[1], up[2], "Warning Failed" + at}},
		"sandbox fails":   {play: syncWithFailure(faulty.RunSandbox), want: []string{"Warning FailedCreatePodSandBox pod"}},
		"kill fails":      {play: terminateWithFailure(faulty.StopContainer), want: after("Normal Killing"+at, "Warning FailedKillPod pod")},
		"end":             {play: terminateWithFailure(""), want: after("Normal Killing" + at)},
		"preStop fails":   {pod: withHooks(v1.Lifecycle{PreStop: exec}), play: terminateWithFailure(""), want: after("Normal Killing"+at, "Warning FailedPreStopHook"+at)},
		"postStart fails": {pod: withHooks(v1.Lifecycle{PostStart: exec}), want: after("Warning FailedPostStartHook"+at, "Normal Killing"+at)},
		"volume fails": {
			pod:  func(p *v1.Pod) { p.Spec.Volumes = []v1.Volume{{Name: "v"}} },
			want: []string{"Warning FailedMount pod"},
		},
		"no network": {
			play: func(_ *testing.T, s *podOnNode) {
				s.machine.SetStatus(runtime.RuntimeStatus{RuntimeReady: true})
				s.syncPod()
			},
			want: []string{"Warning NetworkNotReady pod"},
		},
		"another sandbox": {
			play: func(t *testing.T, s *podOnNode) {
				s.syncPod()
				require.NoError(t, s.machine.KillSandbox(s.machine.SnapshotPod("u").Sandboxes[0].ID))
				s.syncPod()
			},
			want: after("Normal SandboxChanged pod", "Normal Killing"+at, up[1], up[2], up[3]),
		},
		"no secret, and the pull fails": {
			pod: func(p *v1.Pod) { p.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "s"}} },
			play: func(_ *testing.T, s *podOnNode) {
				s.machine.FailPulls("img:1", errors.New("no such image"))
				s.syncPod()
				s.syncPod() // It backs off, and nothing is tried.
			},
			want: []string{"Normal Pulling" + at, "Warning Failed" + at, "Warning FailedToRetrieveImagePullSecret pod", "Normal BackOff" + at},
		},
		"no secret, and none is needed": {
			pod:  func(p *v1.Pod) { p.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "s"}} },
			want: up,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard := &notedEvents{}
				s := &podOnNode{machine: memory.New(memory.Config{}), pod: plainPod()}
				if c.pod != nil {
					c.pod(s.pod)
				}
				var err error
				s.faults, err = faulty.New(faulty.Config{})
				require.NoError(t, err)
				s.syncer, err = podsync.New(podsync.Config{
					Runtime: s.faults.Wrap(s.machine, clock.RealClock{}), Recorder: heard, Volumes: noVolumes{},
					Status: &store{write: func(string) {}, statuses: map[types.UID]v1.PodStatus{}},
				})
				require.NoError(t, err)
				if c.play == nil {
					s.syncPod()
				} else {
					c.play(t, s)
				}
				assert.Equal(t, c.want, []string(*heard))
			})
		})
	}
}

// volumesWithError are volumes whose SetUp returns an error.
type volumesWithError struct {
	podsync.Volumes
	err error
}

func (v volumesWithError) SetUp(context.Context, *v1.Pod) error { return v.err }

// TestFailedMount_Words: each volume that fails has an event with the words of the kubelet. Another cause has an event
// about all volumes.
func TestFailedMount_Words(t *testing.T) {
	a := fmt.Errorf("volumes: %w", &volume.SetUpError{Volume: "a", Err: errors.New("there is no ConfigMap default/a")})
	b := fmt.Errorf("volumes: %w", &volume.SetUpError{Volume: "b", Err: errors.New("no disk")})
	const eventA, eventB = `MountVolume.SetUp failed for volume "a" : there is no ConfigMap default/a`, `MountVolume.SetUp failed for volume "b" : no disk`
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"one volume":    {a, []string{eventA}},
		"two volumes":   {errors.Join(a, b), []string{eventA, eventB}},
		"no volume":     {errors.New("volumes: /pods/u is no directory"), []string{"The volumes of the pod cannot be set up: /pods/u is no directory"}},
		"another cause": {errors.Join(b, errors.New("no space")), []string{eventB, "The volumes of the pod cannot be set up: volume \"b\": no disk\nno space"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard := &told{}
				s := &podOnNode{machine: memory.New(memory.Config{}), pod: plainPod()}
				s.pod.Spec.Volumes = []v1.Volume{{Name: "a"}, {Name: "b"}}
				var err error
				s.syncer, err = podsync.New(podsync.Config{
					Runtime: s.machine, Recorder: heard, Volumes: volumesWithError{err: c.err},
					Status: &store{write: func(string) {}, statuses: map[types.UID]v1.PodStatus{}},
				})
				require.NoError(t, err)
				s.syncPod()
				var got []string
				for _, e := range heard.list {
					if e[0] == "FailedMount" {
						got = append(got, e[1])
					}
				}
				assert.Equal(t, c.want, got)
			})
		})
	}
}

// syncWithFailure returns a step that syncs a pod while a call fails.
func syncWithFailure(verb string) func(*testing.T, *podOnNode) {
	return func(t *testing.T, s *podOnNode) {
		s.failCall(t, verb)
		s.syncPod()
	}
}

// terminateWithFailure returns a step that syncs and terminates a pod while a call fails. An empty verb means that no
// call fails.
func terminateWithFailure(verb string) func(*testing.T, *podOnNode) {
	return func(t *testing.T, s *podOnNode) {
		s.syncPod()
		if verb != "" {
			s.failCall(t, verb)
		}
		s.terminatePod()
	}
}
