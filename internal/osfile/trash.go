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
	trashDir       = ".trash"
	ownerSeparator = "~"
	trashMode      = 0o700
	trashBatch     = 256 // names that are read at a time
)

// MaxTrash is the maximum number of entries that ListTrash returns.
const MaxTrash = 1 << 16

// Discarded is an entry in the trash.
type Discarded struct {
	Owner string // as given to Discard
	name  string
}

// Path returns the path of the entry in the directory that contained it.
func (d Discarded) Path() string { return trashDir + "/" + d.name }

// Discard moves an entry of a directory to the trash by one rename. Mounts in it move too. The owner is one element of
// a path without '~'; ListTrash returns it. The error is fs.ErrNotExist if there is no such entry. When Discard returns
// nil the name is free, and nothing has been removed yet.
func Discard(dir *os.Root, name, owner string) error {
	if !isPathElement(name) || !isPathElement(owner) || strings.Contains(owner, ownerSeparator) || name == trashDir {
		return fmt.Errorf("osfile: discard %q of %q: %w", name, owner, fs.ErrInvalid)
	}
	const attempts = 10 // A concurrent call may remove the empty trash directory.
	var err error
	for range attempts {
		if _, err = dir.Lstat(name); err != nil {
			return err
		}
		if err = dir.Mkdir(trashDir, trashMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		err = dir.Rename(name, trashDir+"/"+owner+ownerSeparator+rand.Text())
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// IsDiskFull reports whether an error means that a file system is full, or that the user's quota is used up.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// ListTrash lists the entries in the trash of a directory, sorted, at most MaxTrash of them.
func ListTrash(dir *os.Root) ([]Discarded, error) {
	trash, err := openTrashIfExists(dir)
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
		names, err := f.Readdirnames(trashBatch)
		for _, name := range names {
			owner, _, _ := strings.Cut(name, ownerSeparator)
			all = append(all, Discarded{Owner: owner, name: name})
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) { // ErrNotExist: the trash was empty and has been removed.
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Discarded) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// openTrashIfExists opens the subdirectory .trash, to which Discard moves entries. It returns nil without an
// error if the subdirectory does not exist. It retries if a concurrent call replaces the subdirectory.
func openTrashIfExists(dir *os.Root) (trash *os.Root, err error) {
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

// RemoveTrashIfEmpty removes the trash directory if it is empty.
func RemoveTrashIfEmpty(dir *os.Root) { _ = dir.Remove(trashDir) } // Remove fails if the trash has entries or does not exist.

// EmptyTrash removes the entries in the trash for whose owner matchesOwner returns true, and then the trash directory
// if it is empty. If beforeRemove is not nil, it is called with the path of each entry before the entry is removed; if
// it fails, the entry stays. An entry that cannot be removed does not stop the others. failures counts such entries,
// and err is the first of their errors.
func EmptyTrash(ctx context.Context, dir *os.Root, matchesOwner func(owner string) bool, beforeRemove func(path string) error) (failures int, err error) {
	all, err := ListTrash(dir)
	if err != nil {
		return 0, err
	}
	for _, entry := range all {
		if !matchesOwner(entry.Owner) {
			continue
		}
		if failed := removeTrashEntry(ctx, dir, entry.Path(), beforeRemove); failed != nil {
			failures++
			err = cmp.Or(err, fmt.Errorf("%s: %w", entry.Path(), failed))
		}
	}
	RemoveTrashIfEmpty(dir)
	return failures, err
}

// removeTrashEntry removes one entry of the subdirectory .trash. It first calls beforeRemove if that is not
// nil. If beforeRemove returns an error, it returns the error and does not remove the entry.
func removeTrashEntry(ctx context.Context, dir *os.Root, path string, beforeRemove func(path string) error) error {
	if beforeRemove != nil {
		if err := beforeRemove(path); err != nil {
			return err
		}
	}
	return RemoveAll(ctx, dir, path)
}
