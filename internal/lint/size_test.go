package lint

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSize prints how much production code there is. It sets no limit: limits on the length of
// functions and on all code led to fragments with unclear names.
//
//	go test ./internal/lint -run TestSize -v
func TestSize(t *testing.T) {
	h := Podkeel()
	m := loadModule(t)
	s, err := Measure(m, h)
	require.NoError(t, err)
	t.Logf("%d lines of production code without comments and blanks, and %d for a cluster; 9 of 10 of its %d functions have at most %d lines, the longest has %d",
		s.Lines, s.Cluster, len(s.Functions), s.NinthDecile(), s.Functions[len(s.Functions)-1])
	assert.NotZero(t, s.Lines)
	assert.NotZero(t, s.Cluster)
}

// TestMeasure counts what the small module of the rule size holds.
func TestMeasure(t *testing.T) {
	h := fixtureCodebase("size")
	m, err := Load("testdata/size", h.Module)
	require.NoError(t, err)
	s, err := Measure(m, h)
	require.NoError(t, err)
	assert.Equal(t, Size{Lines: 9, Functions: []int{1, 5}}, s)
	assert.Equal(t, 5, s.NinthDecile())
	h.Cluster = []string{m.Packages[0].Dir}
	apart, err := Measure(m, h)
	require.NoError(t, err)
	assert.Equal(t, Size{Cluster: 9, Functions: []int{1, 5}}, apart)
}
