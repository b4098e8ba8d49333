package request_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// stopNotes are the annotations of a container that stopping it needs.
func stopNotes(pod *v1.Pod, c *v1.Container) map[string]string {
	req := new(request.Node).ContainerRequest(request.Container{Pod: pod, Container: c, Environment: noEnvironment()})
	delete(req.Annotations, request.AnnotationSpecHash)
	delete(req.Annotations, request.AnnotationRestartCount)
	return req.Annotations
}

func preStop(word string) *v1.Lifecycle {
	return &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{word}}}}
}

// The annotations of a container have the values that a stop needs, unless they are too large.
func TestContainer_StopInfo(t *testing.T) {
	pod := named(func(s *v1.PodSpec) { s.Containers = []v1.Container{{Name: "a"}} })
	c := &pod.Spec.Containers[0]
	assert.Empty(t, stopNotes(pod, c))
	c.Lifecycle = &v1.Lifecycle{}
	assert.Empty(t, stopNotes(pod, c))
	pod.Spec.TerminationGracePeriodSeconds, pod.DeletionGracePeriodSeconds = new(int64(0)), new(int64(5))
	c.Lifecycle, c.Ports = preStop("bye"), []v1.ContainerPort{{Name: "web", ContainerPort: 80}}
	c.TerminationMessagePath, c.TerminationMessagePolicy = "/log", "File"
	assert.Equal(t, map[string]string{
		request.AnnotationTerminationGracePeriod: "0", request.AnnotationDeletionGracePeriod: "5",
		request.AnnotationPreStopHandler: `{"exec":{"command":["bye"]}}`, request.AnnotationPorts: `[{"name":"web","containerPort":80}]`,
		request.AnnotationTerminationMessagePath: "/log", request.AnnotationTerminationMessagePolicy: "File",
	}, stopNotes(pod, c))
	const frame = len(`{"exec":{"command":[""]}}`)
	c.Lifecycle = preStop(strings.Repeat("x", 16<<10-frame))
	assert.Len(t, stopNotes(pod, c)[request.AnnotationPreStopHandler], 16<<10)
	c.Lifecycle = preStop(strings.Repeat("x", 16<<10-frame+1))
	assert.NotContains(t, stopNotes(pod, c), request.AnnotationPreStopHandler)
}

// The order of a kill: ordinary and unknown containers first, then sidecars from the last in
// the spec to the first. Ephemeral ones are waited for by none.
func TestStopInfo_Order(t *testing.T) {
	always := new(v1.ContainerRestartPolicyAlways)
	pod := named(func(s *v1.PodSpec) {
		s.InitContainers = []v1.Container{{Name: "s1", RestartPolicy: always}, {Name: "i"}, {Name: "s2", RestartPolicy: always}}
		s.Containers = []v1.Container{{Name: "a"}}
		s.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e"}}}
	})
	for name, want := range map[string]int{"s1": 3, "s2": 1, "i": request.StopOrderFirst, "a": request.StopOrderFirst, "e": request.StopOrderEphemeral, "x": request.StopOrderFirst} {
		assert.Equal(t, want, request.StopInfoOf(pod, 1, name, nil).Order, name)
		text := stopNotes(pod, &v1.Container{Name: name})[request.AnnotationStopOrder]
		assert.Equal(t, map[int]string{3: "3", 1: "1", 0: "", -1: "-1"}[want], text, name)
		rec := &runtime.ContainerStatus{Container: runtime.Container{Name: name}, Annotations: map[string]string{request.AnnotationStopOrder: text}}
		assert.Equal(t, want, request.StopInfoOf(&v1.Pod{}, 1, name, rec).Order, "%s, of an orphan", name)
	}
	many := named(func(s *v1.PodSpec) { s.InitContainers = make([]v1.Container, 1001) })
	for i := range many.Spec.InitContainers {
		many.Spec.InitContainers[i].RestartPolicy = always
	}
	many.Spec.InitContainers[0].Name, many.Spec.InitContainers[1].Name = "first", "second"
	assert.NotContains(t, stopNotes(many, &many.Spec.InitContainers[0]), request.AnnotationStopOrder)
	assert.Equal(t, "1000", stopNotes(many, &many.Spec.InitContainers[1])[request.AnnotationStopOrder])
}

// For a record of the pod's incarnation the pod decides, and otherwise the annotations of the record.
func TestStopInfoOf(t *testing.T) {
	pod := named(func(s *v1.PodSpec) {
		s.InitContainers = []v1.Container{{Name: "s", RestartPolicy: new(v1.ContainerRestartPolicyAlways)}}
		s.Containers = []v1.Container{{Name: "a", Lifecycle: preStop("spec"), Ports: []v1.ContainerPort{{ContainerPort: 1}}}, {Name: "b"}}
	})
	rec := func(incarnation uint64) *runtime.ContainerStatus {
		return &runtime.ContainerStatus{Container: runtime.Container{Incarnation: incarnation}, Annotations: map[string]string{
			request.AnnotationPreStopHandler: `{"exec":{"command":["record"]}}`, request.AnnotationPorts: `[{"containerPort":2}]`,
			request.AnnotationStopOrder: "7", request.AnnotationTerminationGracePeriod: "30",
		}}
	}
	spec := request.StopInfo{PreStop: preStop("spec").PreStop, Ports: []v1.ContainerPort{{ContainerPort: 1}}}
	record := request.StopInfo{PreStop: preStop("record").PreStop, Ports: []v1.ContainerPort{{ContainerPort: 2}}, Order: 7, SpecGraceSeconds: new(int64(30))}
	assert.Equal(t, spec, request.StopInfoOf(pod, 2, "a", nil))
	assert.Equal(t, spec, request.StopInfoOf(pod, 2, "a", rec(2)))
	assert.Equal(t, record, request.StopInfoOf(pod, 2, "a", rec(1)))
	assert.Equal(t, record, request.StopInfoOf(pod, 2, "x", rec(2)))
	assert.Equal(t, request.StopInfo{}, request.StopInfoOf(pod, 2, "b", rec(2)))
	assert.Equal(t, request.StopInfo{Order: 1}, request.StopInfoOf(pod, 2, "s", nil))
	assert.Equal(t, request.StopInfo{}, request.StopInfoOf(pod, 2, "x", nil))
}

// A record may have been made by anybody: what cannot be is not believed.
func TestStopInfoOf_Garbage(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       request.StopInfo
	}{
		{request.AnnotationTerminationGracePeriod, "-1", request.StopInfo{}},
		{request.AnnotationTerminationGracePeriod, "x", request.StopInfo{}},
		{request.AnnotationTerminationGracePeriod, "0", request.StopInfo{SpecGraceSeconds: new(int64)}},
		{request.AnnotationDeletionGracePeriod, "3", request.StopInfo{DeletionGraceSeconds: new(int64(3))}},
		{request.AnnotationPreStopHandler, "{", request.StopInfo{}},
		{request.AnnotationPorts, "{}", request.StopInfo{}},
		{request.AnnotationStopOrder, "-2", request.StopInfo{}},
		{request.AnnotationStopOrder, "-1", request.StopInfo{Order: -1}},
		{request.AnnotationStopOrder, "1000", request.StopInfo{Order: 1000}},
		{request.AnnotationStopOrder, "1001", request.StopInfo{}},
		{request.AnnotationStopOrder, "5x", request.StopInfo{}},
	} {
		rec := &runtime.ContainerStatus{Annotations: map[string]string{c.name: c.text}}
		assert.Equal(t, c.want, request.StopInfoOf(&v1.Pod{}, 0, "a", rec), "%s=%s", c.name, c.text)
	}
	both := &runtime.ContainerStatus{Annotations: map[string]string{request.AnnotationDeletionGracePeriod: "3", request.AnnotationTerminationGracePeriod: "30"}}
	assert.Equal(t, request.StopInfo{DeletionGraceSeconds: new(int64(3)), SpecGraceSeconds: new(int64(30))}, request.StopInfoOf(&v1.Pod{}, 0, "a", both))
	const frame = len(`{"exec":{"command":[""]}}`)
	for size, found := range map[int]bool{16 << 10: true, 16<<10 + 1: false} {
		text := `{"exec":{"command":["` + strings.Repeat("x", size-frame) + `"]}}`
		rec := &runtime.ContainerStatus{Annotations: map[string]string{request.AnnotationPreStopHandler: text}}
		assert.Equal(t, found, request.StopInfoOf(&v1.Pod{}, 0, "a", rec).PreStop != nil, size)
	}
}
