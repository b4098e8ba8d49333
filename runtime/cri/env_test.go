package cri_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// N37-79: the value of a variable is any bytes, as in a Secret: CRI carries them as they are.
func TestCreateContainer_N37_79_EnvOfAnyBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox"})
		require.NoError(t, err)
		sandbox, err := r.RunSandbox(t.Context(), sandboxOf(web))
		require.NoError(t, err)
		req := containerOf(web, sandbox)
		const key = "\xff\xfe\x80 and text"
		req.Env = []runtime.EnvVar{{Name: "KEY", Value: key}}
		_, err = r.CreateContainer(t.Context(), req)
		require.NoError(t, err)
		sent := last[*criv1.CreateContainerRequest](s.fake).GetConfig().GetEnvs()
		require.Len(t, sent, 1)
		assert.Equal(t, "KEY", sent[0].GetKey())
		assert.Equal(t, key, string(sent[0].GetValue()))
	})
}
