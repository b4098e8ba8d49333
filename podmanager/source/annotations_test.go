package source_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

// TestAnnotations_CF7_OneSpelling: the pure package cannot import the words it
// shares with everybody.
func TestAnnotations_CF7_OneSpelling(t *testing.T) {
	assert.Equal(t, podmanager.ConfigSourceAnnotation, merge.SourceAnnotation)
	assert.Equal(t, podmanager.ConfigMirrorAnnotation, merge.MirrorAnnotation)
	assert.Equal(t, podmanager.ConfigFirstSeenAnnotation, merge.SeenAnnotation)
}
