package logfiles

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// The errors of Rotate.
var (
	// ErrNotRegular is returned where a log ought to be and is a link, a directory
	// or something else: nothing is done about it.
	ErrNotRegular = errors.New("logfiles: not a regular file")
	// ErrLost is returned for a log that is not there although the runtime says that
	// it writes one.
	ErrLost = errors.New("logfiles: there is no log")
	// ErrLeft is returned after a log was rotated, if another one of its attempt could
	// not be compressed or removed. It is tried again with the next rotation.
	ErrLeft = errors.New("logfiles: what was rotated before is left as it was")
)

// Log is the log of one attempt at a container.
type Log struct {
	Pod       runtime.PodRef
	Container string
	Attempt   uint32
}

// name is the log's, in the directory of its container.
func (l Log) name() string { return fmt.Sprintf("%d.log", l.Attempt) }

// Due reports whether Rotate must be called for a log: the log has maxBytes or more, or is missing,
// as after a rotation that was cut short. Due opens no log.
func (d *Dir) Due(l Log, maxBytes int64) (bool, error) {
	dir, err := d.openLog(l)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	info, err := live(dir, l)
	if errors.Is(err, ErrLost) {
		return true, nil
	}
	return err == nil && info.Size() >= maxBytes, err
}

// live looks at the log itself.
func live(dir *os.Root, l Log) (fs.FileInfo, error) {
	info, err := dir.Lstat(l.name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s of container %s", ErrLost, l.name(), l.Container)
	case err != nil:
		return nil, fmt.Errorf("logfiles: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s of container %s", ErrNotRegular, l.name(), l.Container)
	}
	return info, nil
}

// Rotate gives a log that is too large another name, has the runtime write to a new
// file by reopen, compresses those that were rotated before and removes the oldest.
// If the log cannot be reopened its name is given back, so that nothing is
// lost. A log that is not there is reopened, and one that is small enough is left
// alone. It is called by one caller at a time for each log, and may be repeated
// after any error. The end of ctx ends it between two steps, with the log in its
// place.
func (d *Dir) Rotate(ctx context.Context, l Log, p policy.Logs, now time.Time, reopen func(context.Context) error) error {
	dir, err := d.openLog(l)
	if err != nil {
		return err
	}
	defer dir.Close()
	info, err := live(dir, l)
	switch {
	case errors.Is(err, ErrLost):
		if err := reopen(ctx); err != nil {
			return fmt.Errorf("logfiles: reopen the log of container %s, which is not there: %w", l.Container, err)
		}
		_, err = live(dir, l)
		return err
	case err != nil:
		return err
	case info.Size() < p.MaxBytes:
		return nil
	}
	files, err := beside(dir, l, info)
	if err != nil {
		return fmt.Errorf("logfiles: the logs of container %s: %w", l.Container, err)
	}
	r := p.Rotate(l.name(), files, now)
	errs := removeAll(dir, r.Remove)
	if err := replace(ctx, dir, l, r.Name, reopen); err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, name := range r.Compress {
		if ctx.Err() != nil {
			break // It is left for the next time.
		}
		if err := compress(ctx, dir, name); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrLeft, errors.Join(errs...))
	}
	return nil
}

// beside are the regular files of the log's attempt.
func beside(dir *os.Root, l Log, log fs.FileInfo) (files []policy.LogFile, err error) {
	var names []string
	err = each(dir, func(e fs.DirEntry) bool {
		if n, ok := policy.AttemptOfLog(e.Name()); ok && n == l.Attempt && e.Name() != l.name() && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
		return true
	})
	if err != nil && !errors.Is(err, ErrTooMany) { // What was read can go, and then there are fewer.
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		info, err := dir.Lstat(name)
		if err == nil && info.Mode().IsRegular() {
			files = append(files, policy.LogFile{Name: name, Live: os.SameFile(info, log)})
		}
	}
	return files, nil
}

func removeAll(dir *os.Root, names []string) (errs []error) {
	for _, name := range names {
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("logfiles: %w", err))
		}
	}
	return errs
}

// replace moves the log away and has another file take its place. A runtime whose
// answer got lost may have made one: then the log has been rotated, and stays so.
func replace(ctx context.Context, dir *os.Root, l Log, name string, reopen func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := dir.Rename(l.name(), name); err != nil {
		return fmt.Errorf("logfiles: rotate the log of container %s: %w", l.Container, err)
	}
	err := reopen(ctx)
	if err == nil {
		return nil
	}
	if undone := giveBack(dir, name, l.name()); errors.Is(undone, fs.ErrExist) {
		if err = reopen(ctx); err == nil { // For certain: the former file must not grow any more.
			return nil
		}
	} else if undone != nil {
		err = fmt.Errorf("%w, and its name cannot be given back: %w", err, undone)
	}
	return fmt.Errorf("logfiles: reopen the log of container %s: %w", l.Container, err)
}

// giveBack renames a rotated file to the name of the log again. If the runtime has made a file of
// that name, giveBack replaces nothing and returns fs.ErrExist. On a file system without hard links
// it looks for such a file before it renames. The runtime has answered by then, so it makes no file
// in between.
func giveBack(dir *os.Root, name, log string) error {
	err := dir.Link(name, log)
	if err == nil {
		return dir.Remove(name)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	switch _, err := dir.Lstat(log); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return dir.Rename(name, log)
}

// pieceBytes is how much is read between two looks at the context.
const pieceBytes = 1 << 20

// compress puts a file into a smaller one. Until that is whole, and on the disk, it
// has a name of its own, and what it is made of stays; a rest of it is removed.
func compress(ctx context.Context, dir *os.Root, name string) error {
	whole, part := policy.Compressed(name)
	err := squeeze(ctx, dir, name, part)
	if err == nil {
		err = dir.Rename(part, whole)
	}
	if err != nil {
		if rest := dir.Remove(part); rest != nil && !errors.Is(rest, fs.ErrNotExist) {
			err = errors.Join(err, rest)
		}
		return fmt.Errorf("logfiles: compress %s: %w", name, err)
	}
	if err := dir.Remove(name); err != nil {
		return fmt.Errorf("logfiles: %s has been compressed: %w", name, err)
	}
	return nil
}

// squeeze writes the compressed file.
func squeeze(ctx context.Context, dir *os.Root, name, part string) (err error) {
	from, mode, err := openRegular(dir, name)
	if err != nil {
		return err
	}
	defer from.Close() // It was only read.
	to, err := dir.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	packer := gzip.NewWriter(to)
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(packer, from, pieceBytes)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, packer.Close(), to.Sync(), to.Close())
}

// openRegular opens a file and nothing else: no link, and nothing that takes the
// file's place meanwhile.
func openRegular(dir *os.Root, name string) (*os.File, fs.FileMode, error) {
	f, err := osfile.OpenFile(dir, name, os.O_RDONLY, 0)
	if errors.Is(err, osfile.ErrNotRegular) || errors.Is(err, osfile.ErrReplaced) {
		err = fmt.Errorf("%w: %s: %w", ErrNotRegular, name, err)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // It was only read.
		return nil, 0, err
	}
	return f, info.Mode(), nil
}
