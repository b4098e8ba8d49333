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

// Flags of the kernel that package syscall does not have.
const (
	flagPathOnly        = 0x200000 // O_PATH: a reference to the file, which is not opened
	flagUnmountNoFollow = 0x8      // UMOUNT_NOFOLLOW
)

// openPathReference opens a reference to a file of any kind, without opening the file itself. So it has no
// effect on a device and does not follow a symbolic link.
func openPathReference(dir *os.Root, name string) (*os.File, error) {
	return dir.OpenFile(name, flagPathOnly, 0)
}

// procFDPath returns the path of an open file in /proc/self/fd. The kernel resolves it to this file, even if
// another file now has the original path.
func procFDPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// mountTmpfs mounts a tmpfs, to which every user may write, on a directory. The directory has the sticky bit, as
// a tmpfs of the kubelet has it: a user cannot remove the files of another user. A size of 0 sets no size, and a
// negative group sets no group.
func mountTmpfs(dir *os.File, size int64, group int) error {
	options := "mode=01777"
	if group >= 0 {
		options = "mode=03777,gid=" + strconv.Itoa(group)
	}
	if size > 0 {
		options += ",size=" + strconv.FormatInt(size, 10)
	}
	err := syscall.Mount("tmpfs", procFDPath(dir), "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, options)
	if err != nil {
		return fmt.Errorf("a volume in memory cannot be mounted here: %w", err)
	}
	return nil
}

// mountHugePages mounts a hugetlbfs with a page size, to which every user may write, on a directory. If group
// is negative it sets no group.
func mountHugePages(dir *os.File, pageSize int64, group int) error {
	options := "pagesize=" + strconv.FormatInt(pageSize, 10) + ",mode=0777"
	if group >= 0 {
		options += ",gid=" + strconv.Itoa(group)
	}
	err := syscall.Mount("hugetlbfs", procFDPath(dir), "hugetlbfs", syscall.MS_NOSUID|syscall.MS_NODEV, options)
	if err != nil {
		return fmt.Errorf("a volume in huge pages of %d bytes cannot be mounted here: %w", pageSize, err)
	}
	return nil
}

// bindMountPart bind-mounts a file or directory of a volume at a name in mountDir, and replaces an earlier
// mount at that name. It makes the new mount private, so that its unmount does not also unmount file systems of
// the host.
func bindMountPart(mountDir *os.Root, name string, part *os.File, isDir bool) error {
	if err := unmountAndRemovePart(mountDir, name); err != nil {
		return err
	}
	if err := makeMountPoint(mountDir, name, isDir); err != nil {
		return err
	}
	target, err := openPathReference(mountDir, name)
	if err != nil {
		return err
	}
	defer target.Close()
	if err := syscall.Mount(procFDPath(part), procFDPath(target), "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	// The mount is made private. Otherwise an unmount here would also unmount what the host has mounted below.
	at, err := kernelPath(mountDir)
	if err != nil {
		return err
	}
	return syscall.Mount("", filepath.Join(at, name), "", syscall.MS_PRIVATE, "")
}

// makeMountPoint creates an empty directory or, if isDir is false, an empty file, for a later mount on it. It
// mounts nothing.
func makeMountPoint(mountDir *os.Root, name string, isDir bool) error {
	if isDir {
		return mountDir.Mkdir(name, privateDirMode)
	}
	f, err := mountDir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// unmountAndRemovePart unmounts everything at and below a name and deletes the empty mount point. It does
// nothing if the name does not exist. It also works if the server or device of a mounted file system is gone.
func unmountAndRemovePart(mountDir *os.Root, name string) error {
	switch _, err := mountDir.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && !isBrokenMount(err):
		return err
	}
	at, err := kernelPath(mountDir)
	if err != nil {
		return err
	}
	if err := unmountTree(filepath.Join(at, name)); err != nil {
		return err
	}
	return mountDir.Remove(name)
}

// isBrokenMount reports whether the error of a file access means that the server or device of a mounted file
// system is gone. Examples are a stale NFS handle and a FUSE daemon that has exited.
func isBrokenMount(err error) bool {
	return slices.ContainsFunc(brokenMountErrors[:], func(errno syscall.Errno) bool { return errors.Is(err, errno) })
}

// brokenMountErrors are the errors that the kubelet treats as a corrupted mount.
var brokenMountErrors = [...]syscall.Errno{
	syscall.ESTALE, syscall.ENOTCONN, syscall.EIO, syscall.EACCES, syscall.EHOSTDOWN, syscall.ENODEV, syscall.EWOULDBLOCK,
}

// kernelPath returns the absolute path of an open directory, as the kernel reports it in /proc.
func kernelPath(dir *os.Root) (string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return "", err
	}
	defer f.Close()
	return os.Readlink(procFDPath(f))
}

// unmountEntryTree unmounts everything that is mounted at the file or directory name in parent, and below it.
func unmountEntryTree(parent *os.Root, name string) error {
	at, err := kernelPath(parent)
	if err != nil {
		return err
	}
	return unmountTree(filepath.Join(at, name))
}

// unmountTree unmounts everything that is mounted at a path and below it, the newest mount first, and repeats
// that if mounts remain. It returns an error if mounts remain after all repetitions; to delete the path would
// then delete files of other file systems.
func unmountTree(path string) error {
	const rounds = 10 // A mount may hide another one at the same path.
	var last error
	for range rounds {
		points, err := mountPointsAtOrBelow(path)
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
			err := makeMountsAbovePrivate(isPoint, path, point)
			if err == nil {
				err = syscall.Unmount(point, flagUnmountNoFollow|syscall.MNT_DETACH)
			}
			if err != nil {
				last = fmt.Errorf("%s cannot be unmounted: %w", point, err)
			}
		}
	}
	if last == nil {
		last = fmt.Errorf("file systems are mounted below %s again and again", path)
	}
	return last
}

// makeMountsAbovePrivate makes the mounts above a mount point private, up to the path from. Without that, an
// unmount at the point would also unmount the same file system on the host.
func makeMountsAbovePrivate(isPoint map[string]bool, from, point string) error {
	for above := point; above != from; {
		if above = filepath.Dir(above); !isPoint[above] {
			continue
		}
		err := syscall.Mount("", above, "", syscall.MS_PRIVATE, "")
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) { // These two errors mean that the mount is gone.
			return err
		}
	}
	return nil
}

// relativeMountPointsBelow returns the set of mount points at any depth below a directory, as paths relative to
// it.
func relativeMountPointsBelow(dir *os.Root) (map[string]bool, error) {
	at, err := kernelPath(dir)
	if err != nil {
		return nil, err
	}
	points, err := mountPointsAtOrBelow(at)
	out := map[string]bool{}
	for _, point := range points {
		if name, ok := strings.CutPrefix(point, at+"/"); ok {
			out[name] = true
		}
	}
	return out, err
}

// mountPointsAtOrBelow returns the mount points at a path and below it, in the order in which they were
// mounted.
func mountPointsAtOrBelow(path string) ([]string, error) {
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
		point := unescapeMountPath(fields[pointField])
		if point == path || strings.HasPrefix(point, path+"/") {
			out = append(out, point)
		}
	}
	return out, nil
}

// unescapeMountPath decodes the octal escapes in a path of /proc/self/mountinfo, for example \040 to a space.
func unescapeMountPath(s string) string {
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
