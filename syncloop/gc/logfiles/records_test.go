package logfiles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A later agent reads a record with the longest possible path. Otherwise the directory would belong
// to no agent.
func TestRecords_LongestPath(t *testing.T) {
	dir := t.TempDir()
	want, err := (&directoryRecords{dir: dir}).addWithNewID(directoryRecord{
		Root: strings.Repeat("/<", 1920), Name: strings.Repeat("n", 255), Pod: strings.Repeat("p", 255), UID: "u", Made: true,
	})
	require.NoError(t, err)
	found, err := (&directoryRecords{dir: dir}).list(func(directoryRecord) bool { return true })
	require.NoError(t, err)
	assert.Equal(t, []directoryRecord{want}, found)
}
