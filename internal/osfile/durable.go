package osfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// ReplaceFile writes a file in a directory, in place of an existing file or link. It first writes a file with a temporary
// name in that directory; a file of that name is removed. After a power failure the directory has the old file or the
// new one. After a nil error it has the new one, if the disk and the file system keep what they report as written.
func ReplaceFile(dir *os.Root, name, temporary string, text []byte) error {
	return writeDurably(rootDirectory{dir}, name, temporary, text, directory.Rename)
}

// CreateFile is ReplaceFile for a file that does not exist. If it exists, CreateFile changes nothing and returns
// fs.ErrExist, also if another process creates it at the same time.
func CreateFile(dir *os.Root, name, temporary string, text []byte) error {
	return writeDurably(rootDirectory{dir}, name, temporary, text, directory.Link)
}

// MkdirAll is os.MkdirAll whose new directories survive a power failure after a nil error.
func MkdirAll(path string, mode os.FileMode) error {
	var parents []string
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		parents = append(parents, filepath.Dir(dir))
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := SyncDir(parent); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir writes the names in a directory to the disk. After a nil error a removed file does not come back after a power
// failure. It returns nil if the system or the file system cannot sync directories.
func SyncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncDirectory(f), f.Close())
}

// directory is a directory with the operations of writeDurably. The tests have one that loses power.
type directory interface {
	Create(name string) (file, error)
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	Sync() error
}

// file is a file that is being written.
type file interface {
	io.WriteCloser
	Sync() error
}

// writeDurably writes a temporary file, syncs it, gives it its name by place, and syncs the directory. The order makes the
// promise: a file system may write the new name to the disk before the content of a file that was not synced. After an
// error before place the directory has the old file.
func writeDurably(dir directory, name, temporary string, text []byte, place func(d directory, from, to string) error) error {
	_ = dir.Remove(temporary) // An interrupted write may have left it.
	f, err := dir.Create(temporary)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Remove(temporary) }() // After a rename it does not exist.
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := place(dir, temporary, name); err != nil {
		return err
	}
	return dir.Sync()
}

// rootDirectory is a directory of this machine.
type rootDirectory struct{ *os.Root }

func (d rootDirectory) Create(name string) (file, error) {
	return d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (d rootDirectory) Sync() error {
	f, err := d.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(syncDirectory(f), f.Close())
}

// syncDirectory syncs a directory. It returns nil if the system or the file system cannot sync directories.
func syncDirectory(f *os.File) error {
	err := f.Sync()
	if runtime.GOOS == "windows" || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
