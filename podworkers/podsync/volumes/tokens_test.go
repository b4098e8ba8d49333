package volumes_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
)

// rotated is the token of now.
type rotated struct{ now string }

func (r *rotated) Token(context.Context, *v1.Pod, string, int64) (string, error) { return r.now, nil }

// TestSetUp_Token: the file has the newest token after each sync.
func TestSetUp_Token(t *testing.T) {
	root, tokens := t.TempDir(), &rotated{now: "first"}
	d, err := volumes.New(volumes.Config{Root: root, Tokens: tokens})
	require.NoError(t, err)
	pod := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{Name: "t", VolumeSource: v1.VolumeSource{
		Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}}}},
	}}}}}
	pod.UID, pod.Namespace, pod.Name = "u", "ns", "p"
	assert.Empty(t, d.Problems(pod))
	for _, token := range []string{"first", "second"} {
		tokens.now = token
		require.NoError(t, d.SetUp(t.Context(), pod))
		data, err := os.ReadFile(filepath.Join(root, "pods", "u", "volumes", "t", "token"))
		require.NoError(t, err)
		assert.Equal(t, token, string(data))
	}
}
