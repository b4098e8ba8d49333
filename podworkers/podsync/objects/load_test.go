package objects_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podworkers/podsync/objects"
)

// Load adds the valid manifests, and the error names the others.
func TestMap_Load(t *testing.T) {
	m := objects.NewMap()
	err := m.Load(fstest.MapFS{
		"configmaps/ns/a.yaml": {Data: []byte("kind: ConfigMap\ndata: {x: '1'}\n")},
		"configmaps/ns/b.yaml": {Data: []byte("metadata: {name: other}\n")},
		"configmaps/ns/B.yaml": {Data: []byte("{}")},
		"secrets/ns/a.yaml":    {Data: []byte("metadata: {name: a, namespace: ns}\ndata: {x: AQI=}\n")},
		"secrets/ns/b.yaml":    {Data: []byte("kind: ConfigMap\n")},
		"secrets/README":       {Data: []byte("this is not looked at")},
	})
	assert.EqualError(t, err, "objects: configmaps/ns/B.yaml: no object can have that name\n"+
		"objects: configmaps/ns/b.yaml: the manifest has the name \"other\"\n"+
		"objects: secrets/ns/b.yaml: the manifest has the kind \"ConfigMap\"")
	config, err := m.ConfigMap(background, "ns", "a")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"x": "1"}, config.Data)
	secret, err := m.Secret(background, "ns", "a")
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"x": {1, 2}}, secret.Data)
	_, err = m.Secret(background, "ns", "b")
	assert.Error(t, err)
}
