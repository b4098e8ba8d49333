//go:build linux

package cri_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/e2e"
	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/runtime/runtimetest"
)

// The suite on real containerds. Its cases run side by side, but for the one
// that removes the image of the others.
func TestConformance_Containerd(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes a minute of real time")
	}
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			c := e2e.Start(t, version)
			runtimetest.Run(t, func(t *testing.T) runtimetest.Harness { return real(t, c) })
		})
	}
}

func real(t *testing.T, c *e2e.Containerd) runtimetest.Harness {
	if !strings.HasSuffix(t.Name(), "/image/remove") {
		t.Parallel()
	}
	r, err := cri.New(cri.Config{Endpoint: c.Endpoint, Owner: "conformance"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	h := runtimetest.Harness{
		Runtime: r, Image: c.Registry.Image(), MissingImage: c.Registry.MissingImage(), LogDir: t.TempDir(), StreamsApart: true,
	}
	if c.Version == e2e.Containerd16 {
		h.Skip = map[string]string{
			"events/changes": "containerd 1.6 has no stream of events",
			"events/context": "containerd 1.6 has no stream of events",
		}
	}
	return h
}
