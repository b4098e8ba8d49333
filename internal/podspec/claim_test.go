package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
)

// TestClaim_RoundTrip: ParseClaim returns the claim that AnnotationValue has formatted. An invalid text is a claim of
// one pod slot.
func TestClaim_RoundTrip(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{
		Ports:     []v1.ContainerPort{{HostPort: 80}},
		Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1500m")}},
	}}}}
	made := podspec.ClaimForPod(pod)
	assert.Equal(t, `{"requests":{"cpu":"1500m","pods":"1"},"hostPorts":[{"ip":"0.0.0.0","protocol":"TCP","port":80}]}`, made.AnnotationValue())
	assert.Equal(t, made.AnnotationValue(), podspec.ParseClaim(made.AnnotationValue()).AnnotationValue())
	for _, nonsense := range []string{"", "{", "[]", `{"requests":{"cpu":"lots"}}`} {
		assert.Equal(t, `{"requests":{"pods":"1"}}`, podspec.ParseClaim(nonsense).AnnotationValue(), nonsense)
	}
}
