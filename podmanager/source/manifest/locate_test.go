package manifest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// TestLocate: the source returns the file of each pod, which the Mux needs for faults.
func TestLocate(t *testing.T) {
	d := newDir(t)
	d.write("a", strings.Replace(podYAML("a", "i"), "{name: a", "{uid: u, name: a", 1))
	d.write("b", strings.Replace(podYAML("b", "i"), "{name: b", "{uid: w, name: b", 1))
	d.scan()
	path, found := d.source.Locate("w")
	assert.Equal(t, d.file("b"), path)
	assert.True(t, found)
	d.remove("b")
	d.scan()
	_, found = d.source.Locate("w")
	assert.False(t, found)

	web, err := manifest.NewURL(manifest.URLConfig{URL: "http://user:secret@host/pods?token=x", NodeName: "n1"})
	assert.NoError(t, err)
	path, found = web.Locate("u")
	assert.Equal(t, "http://host/pods", path)
	assert.True(t, found)
}
