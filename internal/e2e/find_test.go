//go:build linux

package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/e2e"
)

// TestVersions: the environment variable selects the families that are tested.
func TestVersions(t *testing.T) {
	t.Setenv(e2e.EnvFamilies, "")
	assert.Equal(t, []e2e.Version{e2e.Containerd2, e2e.Containerd16}, e2e.Versions())
	t.Setenv(e2e.EnvFamilies, "1.7,2")
	assert.Equal(t, []e2e.Version{e2e.Containerd17, e2e.Containerd2}, e2e.Versions())
}
