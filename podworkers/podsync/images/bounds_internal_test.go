package images

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The characters of a name, at the bounds of those that a registry could have.
func TestNormalize_Characters(t *testing.T) {
	for image, want := range map[string]string{"img~": "img~:latest", "!img": "!img:latest", "im g": "", " ": "", "img\x7f": "", "img\x80": ""} {
		got, _ := Normalize(image)
		assert.Equal(t, want, got, "%q", image)
	}
}
