//go:build unix

package objects_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFiles_F31_FIFO(t *testing.T) {
	f, dir := files(t, map[string]string{"configmaps/ns/x/k": ""})
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "configmaps/ns/m"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "configmaps/ns/m/k"), 0o644))
	_, err := f.ConfigMap(background, "ns", "m")
	assert.EqualError(t, err, `objects: ConfigMap ns/m: configmaps/ns/m: key "k": no regular file: p---------`)
}
