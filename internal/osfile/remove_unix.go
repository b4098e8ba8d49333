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
	// maxDepth is how deep a tree is removed in its place: each level is an open file.
	maxDepth = 64
	// namesAtOnce is how many names are read before they are removed.
	namesAtOnce = 256
	// maxPasses is how often a directory is read from its beginning because it has
	// entries that were not there before, and that this removal has not moved there.
	maxPasses = 100
)

// removal is one call of RemoveAll.
type removal struct {
	ctx  context.Context
	tell teller
	// step, if set, is called before each call to the system that opens or removes
	// something.
	step  func()
	top   *os.File // what lies too deep is moved here
	moved int      // this often
}

func removeAll(ctx context.Context, dir *os.Root, name string) error {
	r := removal{ctx: ctx, tell: host()}
	return r.all(dir, name)
}

func (r *removal) all(dir *os.Root, name string) error {
	if path.Dir(name) == trashDir {
		trash, err := openTrash(dir)
		if trash == nil {
			return err
		}
		defer trash.Close()
		dir, name = trash, path.Base(name)
	}
	if !isElement(name) {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrInvalid}
	}
	parent, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer parent.Close()
	return r.remove(parent, name, 0)
}

// remove removes an entry, and what is below it.
func (r *removal) remove(parent *os.File, name string, depth int) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	err := r.unlink(parent, name, 0)
	switch {
	case err == nil || errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM): // POSIX has the latter for directories.
		return r.directory(parent, name, depth, err)
	}
	return err
}

// directory removes what should be a directory: whyNot says why it could not be
// removed as a file.
func (r *removal) directory(parent *os.File, name string, depth int, whyNot error) error {
	if depth >= maxDepth {
		return r.lift(parent, name)
	}
	r.before()
	dir, err := r.tell.open(parent, name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		return whyNot
	case (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) && depth > 1:
		return r.lift(parent, name)
	case err != nil:
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	defer dir.Close()
	if depth == 0 {
		r.top = dir
	}
	for pass := 0; pass < maxPasses; pass++ {
		moved := r.moved
		if err := r.empty(dir, depth); err != nil {
			return below(name, err)
		}
		if r.moved > moved {
			pass = 0
		}
		err = r.unlink(parent, name, unix.AT_REMOVEDIR)
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

// empty removes the entries of a directory. One that cannot be removed keeps no other
// from it, unless the removal is to stop.
func (r *removal) empty(dir *os.File, depth int) error {
	var first error
	for {
		names, err := dir.Readdirnames(namesAtOnce)
		for _, name := range names {
			err := r.remove(dir, name, depth+1)
			if stops(err) {
				return err
			}
			if first == nil {
				first = err
			}
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, unix.ENOENT): // The latter: another call has removed it.
			return first
		case err != nil:
			return err
		}
	}
}

// below says of an error in which directory it was.
func below(name string, err error) error {
	if where, ok := err.(*fs.PathError); ok {
		where.Path = path.Join(name, where.Path)
	}
	return err
}

// stops: nothing more is removed after that.
func stops(err error) bool {
	return errors.Is(err, ErrMount) || errors.Is(err, ErrMountsUnknown) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// lift moves a directory that lies too deep to the top of the tree, from where it is
// removed later. Names of former removals are no obstacle: each is a new one.
func (r *removal) lift(parent *os.File, name string) error {
	r.before()
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

// unlink removes one entry. One on which something is mounted is ErrMount.
func (r *removal) unlink(parent *os.File, name string, flags int) error {
	r.before()
	err := again(func() error { return unix.Unlinkat(int(parent.Fd()), name, flags) })
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EBUSY) {
		err = ErrMount
	}
	return &fs.PathError{Op: "remove", Path: name, Err: err}
}

func (r *removal) before() {
	if r.step != nil {
		r.step()
	}
}

// again repeats a call that a signal has interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
