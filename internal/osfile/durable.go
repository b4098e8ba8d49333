package osfile

import (
	"errors"
	"io"
	"io/fs"
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

// EnsureFile is ReplaceFile for a file that may exist: an existing file or link stays as it is, also if another process
// creates it at the same time. After a nil error the file survives a power failure, also if an earlier call has created
// it and its process was killed before it synced the directory.
func EnsureFile(dir *os.Root, name, temporary string, text []byte) error {
	return createUnlessExistsAndSync(rootDirectory{dir}, name, temporary, text)
}

// MkdirAll is os.MkdirAll whose directories survive a power failure after a nil error. This includes the directories
// that an earlier call has made if its process was killed in the middle. For a directory that exists and whose parent
// this process may not read or write, MkdirAll returns nil: another program has made it.
func MkdirAll(path string, mode os.FileMode) error {
	return mkdirAllDurably(machineTree{mode}, filepath.Clean(path))
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

// tree is a file system with the operations of mkdirAllDurably. The tests have one that loses power.
type tree interface {
	Exists(path string) bool
	Mkdir(path string) error
	SyncDir(path string) error
}

// mkdirAllDurably makes the missing directories of a path from the top. It syncs the parent of each directory before it
// makes the next one. So if an earlier call was interrupted, at most the lowest existing directory is not on the disk.
// mkdirAllDurably syncs the parent of that directory first. It ignores that this process may not read that parent, and
// that the parent is on a file system that is read-only.
func mkdirAllDurably(t tree, path string) error {
	parent := filepath.Dir(path)
	if parent == path { // The top always exists.
		return t.Mkdir(path)
	}
	exists := t.Exists(path)
	if !exists {
		if err := mkdirAllDurably(t, parent); err != nil {
			return err
		}
	}
	if err := t.Mkdir(path); err != nil {
		return err
	}
	err := t.SyncDir(parent)
	if exists && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		return nil
	}
	return err
}

// machineTree is the file system of this machine. New directories have the mode.
type machineTree struct{ mode os.FileMode }

func (machineTree) Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Mkdir makes a directory. It returns nil if the directory exists.
func (t machineTree) Mkdir(path string) error { return os.MkdirAll(path, t.mode) }

func (machineTree) SyncDir(path string) error { return SyncDir(path) }

// directory is a directory with the operations of writeDurably. The tests have one that loses power.
type directory interface {
	Exists(name string) (bool, error)
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

// createUnlessExistsAndSync writes a file if no file has the name, and syncs the directory in any case. Another process
// may create the file meanwhile, and that file stays.
func createUnlessExistsAndSync(dir directory, name, temporary string, text []byte) error {
	exists, err := dir.Exists(name)
	if err != nil {
		return err
	}
	if exists {
		return dir.Sync()
	}
	return writeDurably(dir, name, temporary, text, linkUnlessExists)
}

// linkUnlessExists gives a file a second name. If another file has that name, it returns nil and changes nothing.
func linkUnlessExists(dir directory, from, to string) error {
	if err := dir.Link(from, to); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// rootDirectory is a directory of this machine.
type rootDirectory struct{ *os.Root }

// Exists reports whether a file of any kind has the name.
func (d rootDirectory) Exists(name string) (bool, error) {
	_, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

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
