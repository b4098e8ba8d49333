package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A size of huge pages without pages is 0 and not missing, so that a pod that requests the size is refused.
func TestHugePages(t *testing.T) {
	dir := t.TempDir()
	for name, pages := range map[string]string{"hugepages-2048kB": "3\n", "hugepages-1048576kB": "0\n", "hugepages-64kB": "many\n", "hugepages-xkB": "1\n", "other-2048kB": "1\n"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "nr_hugepages"), []byte(pages), 0o600))
	}
	all := map[string]string{}
	for name, quantity := range hugePagesIn(dir) {
		all[string(name)] = quantity.String()
	}
	assert.Equal(t, map[string]string{"hugepages-1Gi": "0", "hugepages-2Mi": "6Mi"}, all)
	assert.Empty(t, hugePagesIn(filepath.Join(dir, "none")))
}

func TestIsAppArmorEnabled(t *testing.T) {
	for enabled, want := range map[string]bool{"Y\n": true, "N\n": false, "": false} {
		sys := t.TempDir()
		assert.False(t, IsAppArmorEnabled(sys))
		parameters := filepath.Join(sys, "module/apparmor/parameters")
		require.NoError(t, os.MkdirAll(parameters, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(parameters, "enabled"), []byte(enabled), 0o600))
		assert.False(t, IsAppArmorEnabled(sys), "without its file system")
		require.NoError(t, os.MkdirAll(filepath.Join(sys, "kernel/security/apparmor"), 0o755))
		assert.Equal(t, want, IsAppArmorEnabled(sys), "%q", enabled)
	}
}
