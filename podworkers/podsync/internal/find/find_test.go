package find_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/find"
	"github.com/podkeel/podkeel/runtime"
)

type objectSource struct{ err error }

func (s objectSource) ConfigMap(_ context.Context, namespace, name string) (*v1.ConfigMap, error) {
	if name == "gone" {
		return nil, runtime.ErrNotFound
	}
	return &v1.ConfigMap{Data: map[string]string{"at": namespace + "/" + name}}, s.err
}

func (s objectSource) Secret(context.Context, string, string) (*v1.Secret, error) {
	return &v1.Secret{}, s.err
}

func TestObjects(t *testing.T) {
	needs := []environ.ObjectRef{{Kind: environ.ConfigMap, Name: "a"}, {Kind: environ.ConfigMap, Name: "gone"}, {Kind: environ.Secret, Name: "b"}}
	found, err := find.FindObjects(context.Background(), objectSource{}, "ns", needs)
	require.NoError(t, err)
	assert.Equal(t, environ.Objects{
		ConfigMaps: map[string]*v1.ConfigMap{"a": {Data: map[string]string{"at": "ns/a"}}}, Secrets: map[string]*v1.Secret{"b": {}},
	}, found, "what does not exist is left out")

	cause := errors.New("disk on fire")
	_, err = find.FindObjects(context.Background(), objectSource{cause}, "ns", needs)
	assert.ErrorIs(t, err, cause)
	assert.EqualError(t, err, "ConfigMap ns/a: disk on fire")

	found, err = find.FindObjects(context.Background(), nil, "ns", needs)
	require.NoError(t, err)
	assert.Empty(t, found.ConfigMaps)
}
