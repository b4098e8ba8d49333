package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errNoNotifications is returned on a host without the memory controller of cgroup v1.
var errNoNotifications = errors.New("observe: notifications need the memory controller of cgroup v1")

// waitForCrossing waits until the usage of the cgroup crosses the threshold, and returns true. It returns false after
// refreshPeriod, and when ctx ends. The threshold is computed at the beginning.
func (m *MemoryNotifier) waitForCrossing(ctx context.Context) (crossed bool, err error) {
	usage, err := m.usageThreshold()
	if err != nil {
		return false, err
	}
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return false, fmt.Errorf("observe: eventfd: %w", errno)
	}
	events := os.NewFile(fd, "eventfd")
	defer events.Close() // This also removes the registration.
	used, err := os.Open(filepath.Join(m.config.Cgroup, "memory.usage_in_bytes"))
	if err != nil {
		return false, fmt.Errorf("observe: %w", err)
	}
	defer used.Close()
	line := fmt.Sprintf("%d %d %d", fd, int(used.Fd()), usage)
	if err := os.WriteFile(filepath.Join(m.config.Cgroup, "cgroup.event_control"), []byte(line), 0); err != nil {
		return false, fmt.Errorf("observe: %w", err)
	}
	if err := events.SetReadDeadline(time.Now().Add(refreshPeriod)); err != nil {
		return false, fmt.Errorf("observe: eventfd: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = events.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var count [8]byte
	_, err = events.Read(count[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}

// usageThreshold returns the usage of the cgroup at which the available memory is the threshold: the memory of the
// machine less the threshold, and the inactive file cache, which the kernel counts as used.
func (m *MemoryNotifier) usageThreshold() (int64, error) {
	text, err := os.ReadFile(filepath.Join(m.config.Cgroup, "memory.stat"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, errNoNotifications
	}
	if err != nil {
		return 0, fmt.Errorf("observe: %w", err)
	}
	inactive := int64(0)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "total_inactive_file "); ok {
			inactive, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64) // A bad number counts as 0.
		}
	}
	_, capacity, err := NewHost(HostConfig{Proc: m.config.Proc}).readMemory()
	if err != nil {
		return 0, err
	}
	return max(capacity-m.config.Threshold.Of(capacity), 0) + inactive, nil
}
