//go:build linux

package e2e

import "os"

// Reboot is what is left of containerd after the machine was switched off: its
// root, without a process, a mount, a network namespace or the state directory,
// which lies in memory. Restart comes next.
func (c *Containerd) Reboot() {
	c.t.Helper()
	c.Kill()
	c.killAndUnmount()
	if err := os.RemoveAll(c.filePath("state")); err != nil {
		c.t.Fatalf("e2e: %v", err)
	}
}
