//go:build !linux

package volumes

import (
	"fmt"
	"os"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/runtime"
)

// This file is for systems other than Linux, where the agent mounts nothing.

// openPathReference opens a regular file or a directory for reading. Any other kind of file is an error, because
// it cannot be mounted on this system.
func openPathReference(dir *os.Root, name string) (*os.File, error) {
	info, err := dir.Lstat(name)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s cannot be mounted: %w on this system", osfile.Kind(info.Mode()), runtime.ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	return dir.Open(name)
}

// mountTmpfs mounts a tmpfs, to which every user may write, on a directory. A size of 0 sets no size, and a
// negative group sets no group.
func mountTmpfs(*os.File, int64, int) error {
	return fmt.Errorf("a volume in memory: %w on this system", runtime.ErrUnsupported)
}

// mountHugePages is the variant for systems other than Linux, where a volume in huge pages (hugetlbfs) is not
// supported. It mounts nothing and returns ErrUnsupported.
func mountHugePages(*os.File, int64, int) error {
	return fmt.Errorf("a volume in huge pages: %w on this system", runtime.ErrUnsupported)
}

// bindMountPart mounts nothing and returns ErrUnsupported.
func bindMountPart(*os.Root, string, *os.File, bool) error {
	return fmt.Errorf("a bind mount: %w on this system", runtime.ErrUnsupported)
}

// unmountEntryTree does nothing and returns nil, because the agent mounts nothing on this system.
func unmountEntryTree(*os.Root, string) error { return nil }

// relativeMountPointsBelow returns an empty set, because the agent mounts nothing on this system.
func relativeMountPointsBelow(*os.Root) (map[string]bool, error) { return map[string]bool{}, nil }
