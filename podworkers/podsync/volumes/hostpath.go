package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/osfile"
)

// checkHostPath sees that a path of the host is what the pod expects, and makes
// it where the pod asks for that. Links of the host are followed: they are its
// owner's.
func checkHostPath(h *v1.HostPathVolumeSource) error {
	if h.Type == nil || *h.Type == v1.HostPathUnset {
		return nil
	}
	info, err := os.Stat(h.Path)
	if errors.Is(err, fs.ErrNotExist) {
		switch *h.Type {
		case v1.HostPathDirectoryOrCreate:
			return os.MkdirAll(h.Path, 0o755)
		case v1.HostPathFileOrCreate:
			return makeFile(h.Path)
		}
	}
	if err != nil {
		return fmt.Errorf("hostPath: %w", err)
	}
	if !isOfType(info.Mode(), *h.Type) {
		return fmt.Errorf("hostPath: %s is no %s: %s", h.Path, *h.Type, osfile.Kind(info.Mode()))
	}
	return nil
}

func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil // Somebody was faster; the next sync sees what it is.
	}
	if err != nil {
		return fmt.Errorf("hostPath: %w", err)
	}
	return f.Close()
}

func isOfType(mode fs.FileMode, want v1.HostPathType) bool {
	switch want {
	case v1.HostPathDirectory, v1.HostPathDirectoryOrCreate:
		return mode.IsDir()
	case v1.HostPathFile, v1.HostPathFileOrCreate:
		return mode.IsRegular()
	case v1.HostPathSocket:
		return mode.Type() == fs.ModeSocket
	case v1.HostPathCharDev:
		return mode.Type() == fs.ModeDevice|fs.ModeCharDevice
	case v1.HostPathBlockDev:
		return mode.Type() == fs.ModeDevice
	}
	return false
}
