package cgroupstest_test

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
)

// A child cannot have a larger CPU quota than its parent, and a cgroup with a child cannot be removed.
func ExampleNew() {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	_ = dir.Mkdir("/sys/fs/cgroup/cpu/a")
	_ = dir.Mkdir("/sys/fs/cgroup/cpu/a/b")
	_ = dir.WriteFile("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", []byte("50000"))
	err := dir.WriteFile("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", []byte("60000"))
	fmt.Println(errors.Is(err, syscall.EINVAL))
	fmt.Println(errors.Is(dir.Remove("/sys/fs/cgroup/cpu/a"), syscall.EBUSY))
	// Output:
	// true
	// true
}
