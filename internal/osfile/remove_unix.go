//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package osfile

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

const (
	// maxDepth is how deep a tree is removed in its place. Each level needs an open file.
	maxDepth = 64
	// namesAtOnce is how many names of a directory are read before they are removed.
	namesAtOnce = 256
	// maxPasses is how often a directory is read from its beginning because it still has entries. Entries that this
	// removal has moved there do not count.
	maxPasses = 100
)

// removal is the state of one call of RemoveAll.
type removal struct {
	ctx    context.Context
	mounts mountChecker
	// beforeSyscall, if set, is called before each call to the system that opens or removes something. Tests set it.
	beforeSyscall func()
	top           *os.File // directories that are too deep are moved here
	moved         int      // number of directories that were moved to top
}

// removeAll removes an entry and everything below it, without crossing a mount.
func removeAll(ctx context.Context, dir *os.Root, name string) error {
	r := removal{ctx: ctx, mounts: newMountChecker()}
	return r.removeEntry(dir, name)
}

// removeEntry removes an entry of dir and everything below it. The name may also be ".trash/NAME", the path of
// an entry that Discard has moved to the subdirectory .trash.
func (r *removal) removeEntry(dir *os.Root, name string) error {
	if path.Dir(name) == trashDir {
		trash, err := openTrashIfExists(dir)
		if trash == nil {
			return err
		}
		defer trash.Close()
		dir, name = trash, path.Base(name)
	}
	if !isPathElement(name) {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrInvalid}
	}
	parent, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer parent.Close()
	return r.removeTree(parent, name, 0)
}

// removeTree removes an entry and everything below it. It first tries to remove it as a file, and then as a
// directory. A missing entry is no error. It does not cross a mount.
func (r *removal) removeTree(parent *os.File, name string, depth int) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	err := r.unlinkEntry(parent, name, 0)
	switch {
	case err == nil || errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM): // POSIX has EPERM for directories.
		return r.removeDirectory(parent, name, depth, err)
	}
	return err
}

// removeDirectory removes a directory and everything below it, unless it is a mount (ErrMount). If the tree is
// too deep, or too many files are open, it moves the directory to the top of the tree instead. If the entry is
// not a directory, it returns unlinkErr, the error from removing it as a file.
func (r *removal) removeDirectory(parent *os.File, name string, depth int, unlinkErr error) error {
	if depth >= maxDepth {
		return r.moveToTop(parent, name)
	}
	r.callTestHook()
	dir, err := r.mounts.openUnlessMount(parent, name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		return unlinkErr
	case (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) && depth > 1:
		return r.moveToTop(parent, name)
	case err != nil:
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	defer dir.Close()
	if depth == 0 {
		r.top = dir
	}
	for pass := 0; pass < maxPasses; pass++ {
		moved := r.moved
		if err := r.removeEntries(dir, depth); err != nil {
			return prependToErrorPath(name, err)
		}
		if r.moved > moved {
			pass = 0
		}
		err = r.unlinkEntry(parent, name, unix.AT_REMOVEDIR)
		switch {
		case err == nil || errors.Is(err, unix.ENOENT):
			return nil
		case !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST):
			return err
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	return err
}

// removeEntries removes the entries of a directory and everything below them. After an error it continues with
// the other entries, and returns the first error. It returns at once if stopsRemoval is true for an error.
func (r *removal) removeEntries(dir *os.File, depth int) error {
	var first error
	for {
		names, err := dir.Readdirnames(namesAtOnce)
		for _, name := range names {
			err := r.removeTree(dir, name, depth+1)
			if stopsRemoval(err) {
				return err
			}
			if first == nil {
				first = err
			}
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, unix.ENOENT): // ENOENT: a concurrent call has removed the directory.
			return first
		case err != nil:
			return err
		}
	}
}

// prependToErrorPath puts the name of a directory in front of the path in a PathError, which it changes. It
// returns any other error unchanged.
func prependToErrorPath(name string, err error) error {
	if where, ok := err.(*fs.PathError); ok {
		where.Path = path.Join(name, where.Path)
	}
	return err
}

// stopsRemoval reports whether an error stops a whole removal: a mount, unknown mounts, or a context that has
// ended.
func stopsRemoval(err error) bool {
	return errors.Is(err, ErrMount) || errors.Is(err, ErrMountsUnknown) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// moveToTop moves a directory to the top directory of the removal, which removes it later, because it is too
// deep or too many files are open. It gets a random name, so that it cannot collide with an earlier one. The
// error is ErrMount if the directory is a mount.
func (r *removal) moveToTop(parent *os.File, name string) error {
	r.callTestHook()
	err := unix.Renameat(int(parent.Fd()), name, int(r.top.Fd()), "deep-"+rand.Text())
	switch {
	case err == nil || errors.Is(err, unix.ENOENT):
		r.moved++
		return nil
	case errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EXDEV):
		err = ErrMount
	}
	return &fs.PathError{Op: "remove", Path: name, Err: err}
}

// unlinkEntry removes one file, or, with the flag AT_REMOVEDIR, one empty directory. The error is ErrMount if
// something is mounted on it.
func (r *removal) unlinkEntry(parent *os.File, name string, flags int) error {
	r.callTestHook()
	err := retryOnEINTR(func() error { return unix.Unlinkat(int(parent.Fd()), name, flags) })
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EBUSY) {
		err = ErrMount
	}
	return &fs.PathError{Op: "remove", Path: name, Err: err}
}

// callTestHook calls beforeSyscall if it is set. Only tests set it.
func (r *removal) callTestHook() {
	if r.beforeSyscall != nil {
		r.beforeSyscall()
	}
}

// retryOnEINTR repeats a call while it returns EINTR, which means that a signal has interrupted it. It returns
// the result of the last call.
func retryOnEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
