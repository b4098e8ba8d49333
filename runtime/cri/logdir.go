package cri

import (
	"fmt"
	"os"
)

// makeLogDir makes a directory for logs, which CRI leaves to its clients:
// containerd makes it if nobody has, others fail. No directory, no logs.
func makeLogDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cri: logs: %w", err)
	}
	return nil
}
