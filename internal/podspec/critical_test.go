package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// A pod is critical by its source, by the mirror annotation or by its priority. It is node critical by its class too.
func TestIsCritical(t *testing.T) {
	annotated := func(key, value string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: value}}}
	}
	for _, c := range []struct {
		pod  *v1.Pod
		want bool
	}{
		{&v1.Pod{}, false},
		{annotated("kubernetes.io/config.source", "api"), false},
		{annotated("kubernetes.io/config.source", "file"), true},
		{annotated("kubernetes.io/config.mirror", ""), true},
		{&v1.Pod{Spec: v1.PodSpec{Priority: new(podspec.SystemCriticalPriority)}}, true},
		{&v1.Pod{Spec: v1.PodSpec{Priority: new(podspec.SystemCriticalPriority - 1)}}, false},
	} {
		assert.Equal(t, c.want, podspec.IsCritical(c.pod))
		assert.False(t, podspec.IsNodeCritical(c.pod))
		c.pod.Spec.PriorityClassName = "system-node-critical"
		assert.Equal(t, c.want, podspec.IsNodeCritical(c.pod))
	}
}
