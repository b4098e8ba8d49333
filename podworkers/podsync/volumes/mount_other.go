//go:build !linux

package volumes

import (
	"fmt"
	"os"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/runtime"
)

// Nothing is mounted on other systems than Linux.

func openPath(dir *os.Root, name string) (*os.File, error) {
	info, err := dir.Lstat(name)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s cannot be mounted: %w on this system", osfile.Kind(info.Mode()), runtime.ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	return dir.Open(name)
}

func mountMemory(*os.File, int64, int) error {
	return fmt.Errorf("a volume in memory: %w on this system", runtime.ErrUnsupported)
}

func mountHugePages(*os.File, int64, int) error {
	return fmt.Errorf("a volume in huge pages: %w on this system", runtime.ErrUnsupported)
}

func pin(*os.Root, string, *os.File, bool) error {
	return fmt.Errorf("a bind mount: %w on this system", runtime.ErrUnsupported)
}

func unmountAt(*os.Root, string) error { return nil }

func mountedBelow(*os.Root) (map[string]bool, error) { return map[string]bool{}, nil }
