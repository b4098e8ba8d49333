package podsync_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
)

// KC-15: the annotations of the container have the values that a stop needs. Annotations of the pod
// with these names are ignored.
func TestContainerRequest_KC15(t *testing.T) {
	all := []string{
		podsync.AnnotationTerminationGracePeriod, podsync.AnnotationDeletionGracePeriod, podsync.AnnotationPreStopHandler,
		podsync.AnnotationPorts, podsync.AnnotationTerminationMessagePath, podsync.AnnotationTerminationMessagePolicy,
		podsync.AnnotationStopOrder,
	}
	for name, tc := range map[string]struct {
		change func(*v1.Pod, *v1.Container)
		want   map[string]string
	}{
		"nothing": {func(*v1.Pod, *v1.Container) {}, map[string]string{}},
		"everything": {func(p *v1.Pod, c *v1.Container) {
			p.Spec.TerminationGracePeriodSeconds, p.DeletionGracePeriodSeconds = new(int64(30)), new(int64(5))
			c.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"bye"}}}}
			c.Ports = []v1.ContainerPort{{Name: "web", ContainerPort: 80}}
			c.TerminationMessagePath, c.TerminationMessagePolicy = "/dev/log", "File"
		}, map[string]string{
			podsync.AnnotationTerminationGracePeriod: "30", podsync.AnnotationDeletionGracePeriod: "5",
			podsync.AnnotationPreStopHandler:         `{"exec":{"command":["bye"]}}`,
			podsync.AnnotationPorts:                  `[{"name":"web","containerPort":80}]`,
			podsync.AnnotationTerminationMessagePath: "/dev/log", podsync.AnnotationTerminationMessagePolicy: "File",
		}},
		"too large": {func(_ *v1.Pod, c *v1.Container) {
			c.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{strings.Repeat("x", 16<<10)}}}}
		}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			seen, err := recordRequests(t, plainPod(func(p *v1.Pod) {
				p.Annotations = map[string]string{}
				for _, a := range all {
					p.Annotations[a] = "1"
				}
				tc.change(p, &p.Spec.Containers[0])
			}), podsync.Config{})
			require.NoError(t, err)
			got := map[string]string{}
			for _, a := range all {
				if value, ok := seen.container.Annotations[a]; ok {
					got[a] = value
				}
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

// An annotation that is larger than ours can be is not read.
func TestSyncTerminatingRuntimePod_KC15_TooLarge(t *testing.T) {
	for size, want := range map[int]bool{15 << 10: true, 16 << 10: false} {
		st := newStory(t)
		st.pod = plainPod(func(p *v1.Pod) { p.Annotations = map[string]string{} })
		st.noted["a "+podsync.AnnotationPreStopHandler] = `{"exec":{"command":["` + strings.Repeat("x", size) + `"]}}`
		st.createContainers()
		st.b.runCall(func() { _, _ = st.invokeSyncer(t.Context(), "orphan", nil, nil) })
		assert.Equal(t, want, strings.Contains(st.out.String(), "RunHandler a/0 pre-stop"), st.out.String())
	}
}
