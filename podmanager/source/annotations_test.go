package source_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

// TestAnnotations_CF7_OneSpelling: the pure package cannot import the annotation names of
// podmanager, so it has copies.
func TestAnnotations_CF7_OneSpelling(t *testing.T) {
	assert.Equal(t, podmanager.ConfigSourceAnnotation, merge.SourceAnnotation)
	assert.Equal(t, podmanager.ConfigMirrorAnnotation, merge.MirrorAnnotation)
	assert.Equal(t, podmanager.ConfigFirstSeenAnnotation, merge.SeenAnnotation)
	assert.Equal(t, podmanager.ApiserverSource, merge.APISource)
}

// TestAnnotations_F98_NoMirrorOfAStaticSource: only the API server has mirror pods. A pod of
// another source with the annotation of a mirror pod would be terminated as if it were one.
func TestAnnotations_F98_NoMirrorOfAStaticSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"api", "file"} {
			for _, src := range []source.Source{source.NewHandle(), &script{}} {
				m := running(t, source.Config{Sources: map[string]source.Source{name: src}})
				p := pod("u", "web", "i")
				p.Annotations = map[string]string{podmanager.ConfigMirrorAnnotation: "x", "mine": "y"}
				if handle, is := src.(*source.Handle); is {
					require.NoError(t, handle.Apply(p))
				} else {
					src.(*script).sink.Set(set(p))
				}
				updates := m.TakeAll(nil)
				delivered := updates[len(updates)-1].Pods[0]
				assert.Equal(t, name == "api", podmanager.IsMirrorPod(delivered), name)
				assert.Equal(t, "y", delivered.Annotations["mine"])
			}
		}
	})
}
