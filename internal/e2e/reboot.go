//go:build linux

package e2e

import "os"

// Reboot leaves containerd as a power failure does: its root remains, but no process, mount, network namespace or state
// directory, which lies in memory. The caller then calls Restart.
func (c *Containerd) Reboot() {
	c.t.Helper()
	c.Kill()
	c.killAndUnmount()
	if err := os.RemoveAll(c.filePath("state")); err != nil {
		c.t.Fatalf("e2e: %v", err)
	}
}
