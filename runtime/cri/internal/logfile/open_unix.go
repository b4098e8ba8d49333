//go:build unix

package logfile

import (
	"errors"
	"os"
	"syscall"
)

func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
}

// isNotRegular: the path is a link, or a socket.
func isNotRegular(err error) bool {
	return errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO)
}
