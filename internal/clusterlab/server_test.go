package clusterlab

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestServerVersion: the environment variable selects a known release, and an unknown release is an error that names it.
func TestServerVersion(t *testing.T) {
	for minor, want := range map[string]string{"": Version, "1.36": Version, "1.34": "v1.34.4", "1.37": "v1.37.2"} {
		t.Setenv(EnvKubernetes, minor)
		got, err := ServerVersion()
		require.NoError(t, err)
		assert.Equal(t, want, got, "%q", minor)
	}
	t.Setenv(EnvKubernetes, "1.3")
	_, err := ServerVersion()
	assert.EqualError(t, err, `PODKEEL_KUBERNETES is "1.3", and no kube-apiserver of that release is known`)
	_, err = Build(t.Context(), "kube-apiserver")
	assert.ErrorIs(t, err, ErrNotBuilt)
}

// TestServerModule: each module of the staging directory is replaced by its version of the release. Other replacements
// stay upstream's business.
func TestServerModule(t *testing.T) {
	upstream := `{"Replace": [
		{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
		{"Old": {"Path": "example.org/fork"}, "New": {"Path": "example.org/forked", "Version": "v1.0.0"}},
		{"Old": {"Path": "k8s.io/kubelet"}, "New": {"Path": "./staging/src/k8s.io/kubelet"}}]}`
	text, err := serverModule("v1.34.4", []byte(upstream))
	require.NoError(t, err)
	assert.Equal(t, `module github.com/podkeel/podkeel/internal/clusterlab/server

go 1.26.0

require k8s.io/kubernetes v1.34.4

replace (
	k8s.io/api => k8s.io/api v0.34.4
	k8s.io/kubelet => k8s.io/kubelet v0.34.4
)
`, string(text))
	_, err = serverModule("v1.34.4", []byte("module"))
	assert.Error(t, err)
}
