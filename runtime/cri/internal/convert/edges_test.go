package convert

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Figures at the bounds of those that say nothing.
func TestStats_Edges(t *testing.T) {
	assert.Nil(t, fromCRIMemory(&cri.MemoryUsage{}, 0))
	assert.NotNil(t, fromCRIMemory(&cri.MemoryUsage{}, 1))
	for left, want := range map[uint64]bool{0: true, unlimitedBytes - 1: true, unlimitedBytes: false, math.MaxUint64: false} {
		out := fromCRISwap(&cri.SwapUsage{Timestamp: 1, SwapAvailableBytes: &cri.UInt64Value{Value: left}})
		assert.Equal(t, want, out.AvailableBytes != nil, left)
	}
	eth := []*cri.NetworkInterfaceUsage{{Name: "eth0"}}
	assert.Nil(t, fromCRINetwork(&cri.NetworkUsage{Interfaces: eth}), "of no time")
	assert.Len(t, fromCRINetwork(&cri.NetworkUsage{Timestamp: 1, Interfaces: eth}).Interfaces, 1)
	assert.Len(t, fromCRINetwork(&cri.NetworkUsage{Timestamp: 1, Interfaces: []*cri.NetworkInterfaceUsage{{}}}).Interfaces, 1, "one without a name")
	assert.Len(t, fromCRINetwork(&cri.NetworkUsage{Timestamp: 1, DefaultInterface: eth[0], Interfaces: eth}).Interfaces, 1, "the default one once")
}

func TestPids(t *testing.T) {
	assert.Equal(t, "max", formatPidsMax(-1))
	assert.Equal(t, "0", formatPidsMax(0))
	assert.Equal(t, "1", formatPidsMax(1))
}

func TestMajorMinor(t *testing.T) {
	for version, want := range map[string][3]int{
		"1.9.3": {1, 9, 1}, "v2.0": {2, 0, 1}, "1.6~ds1": {1, 6, 1}, "1.10": {1, 10, 1}, "2": {}, "2.x": {}, "v1.:": {}, "1./": {},
	} {
		got, ok := parseMajorMinor(version)
		if !ok {
			assert.Zero(t, want, version)
			continue
		}
		assert.Equal(t, want, [3]int{got[0], got[1], 1}, version)
	}
}
