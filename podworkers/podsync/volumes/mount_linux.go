package volumes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Flags of the kernel that package syscall does not name.
const (
	openPathOnly   = 0x200000 // O_PATH: the place, without opening what is there
	unmountNoLinks = 0x8      // UMOUNT_NOFOLLOW
)

// openPath opens a place, whatever is there, also a device, and even a link.
func openPath(dir *os.Root, name string) (*os.File, error) {
	return dir.OpenFile(name, openPathOnly, 0)
}

// byNumber is the name of an open file for the kernel: nobody can put another
// in its place.
func byNumber(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// mountMemory mounts a file system in memory on a directory.
func mountMemory(dir *os.File, size int64, group int) error {
	options := "mode=0777"
	if group >= 0 {
		options = "mode=02777,gid=" + strconv.Itoa(group)
	}
	if size > 0 {
		options += ",size=" + strconv.FormatInt(size, 10)
	}
	err := syscall.Mount("tmpfs", byNumber(dir), "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, options)
	if err != nil {
		return fmt.Errorf("a volume in memory cannot be mounted here: %w", err)
	}
	return nil
}

// mountHugePages mounts a file system in memory with huge pages on a directory.
func mountHugePages(dir *os.File, pageSize int64, group int) error {
	options := "pagesize=" + strconv.FormatInt(pageSize, 10) + ",mode=0777"
	if group >= 0 {
		options += ",gid=" + strconv.Itoa(group)
	}
	err := syscall.Mount("hugetlbfs", byNumber(dir), "hugetlbfs", syscall.MS_NOSUID|syscall.MS_NODEV, options)
	if err != nil {
		return fmt.Errorf("a volume in huge pages of %d bytes cannot be mounted here: %w", pageSize, err)
	}
	return nil
}

// pin mounts a part of a volume at a name in a directory of ours.
func pin(pins *os.Root, name string, part *os.File, isDir bool) error {
	if err := unpin(pins, name); err != nil {
		return err
	}
	if err := place(pins, name, isDir); err != nil {
		return err
	}
	target, err := openPath(pins, name)
	if err != nil {
		return err
	}
	defer target.Close()
	if err := syscall.Mount(byNumber(part), byNumber(target), "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	// What is mounted below it on the host stays there: it is not ours to unmount.
	at, err := realPath(pins)
	if err != nil {
		return err
	}
	return syscall.Mount("", filepath.Join(at, name), "", syscall.MS_PRIVATE, "")
}

// place makes what something can be mounted on.
func place(pins *os.Root, name string, isDir bool) error {
	if isDir {
		return pins.Mkdir(name, private)
	}
	f, err := pins.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// unpin unmounts the mount of an earlier attempt, even if its file system no longer answers.
func unpin(pins *os.Root, name string) error {
	switch _, err := pins.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && !isBrokenMount(err):
		return err
	}
	at, err := realPath(pins)
	if err != nil {
		return err
	}
	if err := unmountBelow(filepath.Join(at, name)); err != nil {
		return err
	}
	return pins.Remove(name)
}

// isBrokenMount reports whether an error on a path says that a file system is mounted there
// whose server or device is gone: a stale NFS handle, or a FUSE daemon that has ended.
func isBrokenMount(err error) bool {
	return slices.ContainsFunc(brokenMountErrors[:], func(errno syscall.Errno) bool { return errors.Is(err, errno) })
}

// brokenMountErrors are what the kubelet takes for a corrupted mount.
var brokenMountErrors = [...]syscall.Errno{
	syscall.ESTALE, syscall.ENOTCONN, syscall.EIO, syscall.EACCES, syscall.EHOSTDOWN, syscall.ENODEV, syscall.EWOULDBLOCK,
}

// realPath is where a directory is, as the kernel names it.
func realPath(dir *os.Root) (string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return "", err
	}
	defer f.Close()
	return os.Readlink(byNumber(f))
}

// unmountAt takes away all that is mounted on an entry of a directory, and below it.
func unmountAt(parent *os.Root, name string) error {
	at, err := realPath(parent)
	if err != nil {
		return err
	}
	return unmountBelow(filepath.Join(at, name))
}

// unmountBelow takes away all that is mounted at a path and below it, the latest
// first, and sees that nothing is left: what is removed next must not be of
// another file system.
func unmountBelow(at string) error {
	const rounds = 10 // Mounts may lie upon each other.
	var last error
	for range rounds {
		points, err := mountPoints(at)
		if err != nil {
			return err
		}
		if len(points) == 0 {
			return nil
		}
		isPoint := make(map[string]bool, len(points))
		for _, point := range points {
			isPoint[point] = true
		}
		for _, point := range slices.Backward(points) {
			err := unshare(isPoint, at, point)
			if err == nil {
				err = syscall.Unmount(point, unmountNoLinks|syscall.MNT_DETACH)
			}
			if err != nil {
				last = fmt.Errorf("%s cannot be unmounted: %w", point, err)
			}
		}
	}
	if last == nil {
		last = fmt.Errorf("something is mounted below %s, again and again", at)
	}
	return last
}

// unshare has what is mounted above a point, from a path on, share no events. Otherwise
// the kernel would take the point away wherever the same is mounted, too: at its own
// place on the host.
func unshare(isPoint map[string]bool, from, point string) error {
	for above := point; above != from; {
		if above = filepath.Dir(above); !isPoint[above] {
			continue
		}
		err := syscall.Mount("", above, "", syscall.MS_PRIVATE, "")
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) { // Those: it is gone.
			return err
		}
	}
	return nil
}

// mountedBelow are the entries of a directory on which something is mounted.
func mountedBelow(dir *os.Root) (map[string]bool, error) {
	at, err := realPath(dir)
	if err != nil {
		return nil, err
	}
	points, err := mountPoints(at)
	out := map[string]bool{}
	for _, point := range points {
		if name, ok := strings.CutPrefix(point, at+"/"); ok {
			out[name] = true
		}
	}
	return out, err
}

// mountPoints are those at a path and below it, in the order they were mounted.
func mountPoints(at string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range bytes.Lines(text) {
		const pointField = 4
		fields := strings.Fields(string(line))
		if len(fields) <= pointField {
			continue
		}
		point := unescaped(fields[pointField])
		if point == at || strings.HasPrefix(point, at+"/") {
			out = append(out, point)
		}
	}
	return out, nil
}

// unescaped is a path as it is: the kernel writes blanks as \040.
func unescaped(s string) string {
	const digits = 3
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+digits >= len(s) {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		if n, err := strconv.ParseUint(s[i+1:i+1+digits], 8, 8); err == nil {
			b.WriteByte(byte(n))
			s = s[i+1+digits:]
		} else {
			b.WriteByte('\\')
			s = s[i+1:]
		}
	}
}
