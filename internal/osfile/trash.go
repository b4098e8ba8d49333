package osfile

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

const (
	trashDir   = ".trash"
	ownerEnd   = "~"
	trashMode  = 0o700
	trashPiece = 256 // names that are read at once
)

// MaxTrash is how many entries Trash lists at most.
const MaxTrash = 1 << 16

// Discarded is an entry that was moved out of the way and is still there.
type Discarded struct {
	Owner string // as given to Discard
	name  string
}

// Path is where it is, below the directory that had it.
func (d Discarded) Path() string { return trashDir + "/" + d.name }

// Discard moves an entry of a directory out of the way, by one rename within the
// directory. What is mounted in it goes with it. The owner is an element of a path
// without '~' by which Trash finds it. fs.ErrNotExist: there is no such entry. The
// name is free when Discard returns nil; nothing has been removed then.
func Discard(dir *os.Root, name, owner string) error {
	if !isElement(name) || !isElement(owner) || strings.Contains(owner, ownerEnd) || name == trashDir {
		return fmt.Errorf("osfile: discard %q of %q: %w", name, owner, fs.ErrInvalid)
	}
	const attempts = 10 // Another call may remove the empty directory of the trash.
	var err error
	for range attempts {
		if _, err = dir.Lstat(name); err != nil {
			return err
		}
		if err = dir.Mkdir(trashDir, trashMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		err = dir.Rename(name, trashDir+"/"+owner+ownerEnd+rand.Text())
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// IsDiskFull reports whether an error says that a file system has no room, or none for this user.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// ListTrash lists what was discarded from a directory and is still there, in order, at
// most MaxTrash entries.
func ListTrash(dir *os.Root) ([]Discarded, error) {
	trash, err := openTrash(dir)
	if trash == nil {
		return nil, err
	}
	defer trash.Close()
	f, err := trash.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Discarded
	for len(all) < MaxTrash {
		names, err := f.Readdirnames(trashPiece)
		for _, name := range names {
			owner, _, _ := strings.Cut(name, ownerEnd)
			all = append(all, Discarded{Owner: owner, name: name})
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) { // The latter: it was empty, and is removed.
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Discarded) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// openTrash opens the directory of the trash; nil without an error if there is none.
// It may be removed and made anew at any time.
func openTrash(dir *os.Root) (trash *os.Root, err error) {
	const attempts = 10
	for range attempts {
		trash, err = OpenSubdir(dir, trashDir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if !errors.Is(err, ErrReplaced) {
			break
		}
	}
	return trash, err
}

// RemoveTrashIfEmpty removes the directory of the trash if it is empty.
func RemoveTrashIfEmpty(dir *os.Root) { _ = dir.Remove(trashDir) } // It has entries, or there is none.

// EmptyTrash removes what was discarded from a directory, of the owners for which of
// answers true, and the directory of the trash if it is empty then. first, if it is not
// nil, is called with the path of each entry before that is removed; its error keeps the
// entry. One entry that cannot be removed keeps no other from it: left counts those, and
// the error is that of the first of them.
func EmptyTrash(ctx context.Context, dir *os.Root, of func(owner string) bool, first func(path string) error) (left int, err error) {
	all, err := ListTrash(dir)
	if err != nil {
		return 0, err
	}
	for _, entry := range all {
		if !of(entry.Owner) {
			continue
		}
		if failed := emptyOne(ctx, dir, entry.Path(), first); failed != nil {
			left++
			err = cmp.Or(err, fmt.Errorf("%s: %w", entry.Path(), failed))
		}
	}
	RemoveTrashIfEmpty(dir)
	return left, err
}

func emptyOne(ctx context.Context, dir *os.Root, path string, first func(path string) error) error {
	if first != nil {
		if err := first(path); err != nil {
			return err
		}
	}
	return RemoveAll(ctx, dir, path)
}
