package convert_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// The version of a runtime tells what it mounts.
func TestImageMounts(t *testing.T) {
	for is, want := range map[[2]string]runtime.ImageMounts{
		{"containerd", "1.6.20~ds1"}:           runtime.ImageMountsNone,
		{"containerd", "v1.7.30"}:              runtime.ImageMountsNone,
		{"containerd", "v2.0.12"}:              runtime.ImageMountsNone,
		{"containerd", "v2.1.0-beta.0-18-g82"}: runtime.ImageMountsWhole,
		{"containerd", "v2.1.9"}:               runtime.ImageMountsWhole,
		{"containerd", "v2.2.0"}:               runtime.ImageMountsAll,
		{"containerd", "v2.10"}:                runtime.ImageMountsAll,
		{"containerd", "3.0.0+unknown"}:        runtime.ImageMountsAll,
		{"containerd", "8237c496"}:             runtime.ImageMountsUnknown,
		{"containerd", ""}:                     runtime.ImageMountsUnknown,
		{"containerd", "two.one"}:              runtime.ImageMountsUnknown,
		{"containerd", "2.x"}:                  runtime.ImageMountsUnknown,
		{"cri-o", "1.30.4"}:                    runtime.ImageMountsNone,
		{"cri-o", "1.31.0"}:                    runtime.ImageMountsWhole,
		{"cri-o", "1.33.1"}:                    runtime.ImageMountsAll,
		{"docker", "28.0.1"}:                   runtime.ImageMountsUnknown,
	} {
		assert.Equal(t, want, convert.ImageMounts(is[0], is[1]), "%s", is)
	}
}
