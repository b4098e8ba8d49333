package volumes

import (
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestIsBrokenMount_N37_39: a call on a path returns these errors if the server or the device of the file system has
// disappeared. No other error is a reason to unmount.
func TestIsBrokenMount_N37_39(t *testing.T) {
	for _, errno := range []syscall.Errno{
		syscall.ESTALE, syscall.ENOTCONN, syscall.EIO, syscall.EACCES, syscall.EHOSTDOWN, syscall.ENODEV, syscall.EWOULDBLOCK,
	} {
		assert.True(t, isBrokenMount(&fs.PathError{Op: "lstat", Path: "0", Err: errno}), errno.Error())
		assert.True(t, isBrokenMount(os.NewSyscallError("lstat", errno)), errno.Error())
	}
	for _, err := range []error{nil, fs.ErrNotExist, syscall.ENOENT, syscall.ELOOP, syscall.ENOTDIR, syscall.EINVAL, syscall.ENAMETOOLONG, os.ErrClosed} {
		assert.False(t, isBrokenMount(err), "%v", err)
	}
}
