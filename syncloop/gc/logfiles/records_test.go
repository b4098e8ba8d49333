package logfiles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A later agent reads a record of the longest path that a system allows. Without it the directory
// would belong to no agent.
func TestRecords_LongestPath(t *testing.T) {
	dir := t.TempDir()
	want, err := (&records{dir: dir}).add(record{
		Root: strings.Repeat("/<", 1920), Name: strings.Repeat("n", 255), Pod: strings.Repeat("p", 255), UID: "u", Made: true,
	})
	require.NoError(t, err)
	found, err := (&records{dir: dir}).list(func(record) bool { return true })
	require.NoError(t, err)
	assert.Equal(t, []record{want}, found)
}
