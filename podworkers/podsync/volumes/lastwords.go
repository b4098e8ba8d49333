package volumes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// keptLogs is how many termination logs there are of one container: that of the
// newest attempt, and those whose records may still be looked at.
const keptLogs = 10

// TerminationLog implements podsync.Files (KC-8).
func (d *Dir) TerminationLog(pod *v1.Pod, container string, attempt uint32) (string, error) {
	name := strconv.FormatUint(uint64(attempt), 10)
	if err := d.makeLog(pod.UID, container, name, attempt); err != nil {
		return "", fmt.Errorf("volumes: termination log of container %s: %w", container, err)
	}
	return d.hostPath(pod.UID, containersDir, container, name), nil
}

func (d *Dir) makeLog(uid types.UID, container, name string, attempt uint32) error {
	own, err := d.pod(uid)
	if err != nil {
		return err
	}
	defer own.Close()
	dir, err := subdir(own, containersDir, container)
	if err != nil {
		return err
	}
	defer dir.Close()
	if attempt >= keptLogs {
		old := strconv.FormatUint(uint64(attempt-keptLogs), 10)
		if err := dir.RemoveAll(old); err != nil {
			return err
		}
	}
	const everybody = 0o666
	f, err := openOwn(dir, name, os.O_WRONLY|os.O_CREATE, everybody)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(everybody), f.Close())
}

// ReadTerminationLog implements podsync.Files (KC-9, F95). A container may have
// made anything of its file: nothing is followed, waited for, or read to an end
// that never comes.
func (d *Dir) ReadTerminationLog(uid types.UID, container string, attempt uint32, limit int) ([]byte, error) {
	dir, err := d.look(uid, containersDir, container)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("volumes: termination log of container %s: %w", container, err)
	}
	defer dir.Close()
	text, err := readEnd(dir, strconv.FormatUint(uint64(attempt), 10), limit)
	if err != nil {
		return nil, fmt.Errorf("volumes: termination log of container %s: %w", container, err)
	}
	return text, nil
}

// readEnd reads the end of a file. One that is not there is empty.
func readEnd(dir *os.Root, name string, limit int) ([]byte, error) {
	f, err := openOwn(dir, name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text := make([]byte, min(max(int64(limit), 0), info.Size()))
	n, err := f.ReadAt(text, info.Size()-int64(len(text)))
	if errors.Is(err, io.EOF) {
		err = nil // It has become shorter.
	}
	return text[:n], err
}

// openOwn opens a file that must be a regular one, now and when it is open. Of
// what it is instead it is only told.
func openOwn(dir *os.Root, name string, flags int, mode fs.FileMode) (*os.File, error) {
	before, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && flags&os.O_CREATE != 0:
		flags |= os.O_EXCL
	case err != nil:
		return nil, err
	case !before.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s", errNotRegular, what(before.Mode()))
	}
	f, err := dir.OpenFile(name, flags|nonBlocking, mode)
	if err != nil {
		return nil, err
	}
	if err := regular(f); err != nil {
		f.Close()
		return nil, err
	}
	if info, err := f.Stat(); before != nil && (err != nil || !os.SameFile(before, info)) {
		f.Close()
		return nil, errors.Join(errors.New("it was replaced while it was opened"), err)
	}
	return f, nil
}

// errNotRegular: there is something, and it is no regular file.
var errNotRegular = errors.New("it is no regular file")

// regular wants an open file to be one.
func regular(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s", errNotRegular, what(info.Mode()))
	}
	return err
}

// what names a kind of file for people.
func what(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode.Type() == fs.ModeSymlink:
		return "a symbolic link"
	case mode.Type() == fs.ModeNamedPipe:
		return "a FIFO"
	case mode.Type() == fs.ModeSocket:
		return "a socket"
	case mode.Type()&fs.ModeCharDevice != 0:
		return "a character device"
	case mode.Type()&fs.ModeDevice != 0:
		return "a block device"
	}
	return mode.Type().String()
}
