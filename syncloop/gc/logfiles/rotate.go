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
	// ErrNotRegular is returned if the log is a link, a directory or any other file that is not
	// regular. The file is not changed.
	ErrNotRegular = errors.New("logfiles: not a regular file")
	// ErrLogMissing is returned if the log still does not exist after the runtime has reopened it.
	ErrLogMissing = errors.New("logfiles: log missing")
	// ErrRotationIncomplete is returned if a log was rotated, but an older rotated file could not
	// be compressed or removed. The next rotation retries that.
	ErrRotationIncomplete = errors.New("logfiles: rotated files could not be compressed or removed")
)

// Log identifies the log of one attempt of a container.
type Log struct {
	Pod       runtime.PodRef
	Container string
	Attempt   uint32
}

// fileName returns the name of the log file, such as 0.log for the first attempt.
func (l Log) fileName() string { return fmt.Sprintf("%d.log", l.Attempt) }

// Due reports whether Rotate must be called for a log: the log has maxBytes or more, or is missing
// after an interrupted rotation. Due opens no log file.
func (d *Dir) Due(l Log, maxBytes int64) (bool, error) {
	dir, err := d.openLogDir(l)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	info, err := statLog(dir, l)
	if errors.Is(err, ErrLogMissing) {
		return true, nil
	}
	return err == nil && info.Size() >= maxBytes, err
}

// statLog returns the file information of a log. It returns ErrLogMissing if the log does not exist, and
// ErrNotRegular if it is no regular file.
func statLog(dir *os.Root, l Log) (fs.FileInfo, error) {
	info, err := dir.Lstat(l.fileName())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s of container %s", ErrLogMissing, l.fileName(), l.Container)
	case err != nil:
		return nil, fmt.Errorf("logfiles: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s of container %s", ErrNotRegular, l.fileName(), l.Container)
	}
	return info, nil
}

// Rotate rotates a log with p.MaxBytes or more. It renames the log, calls reopen, which makes the
// runtime write to a new file, compresses files that were rotated before, and removes the oldest.
// If reopen fails, it restores the name, so that no output is lost. It lets the runtime reopen a
// missing log, and does not change a smaller one. It is called by one caller at a time for each
// log, and may be repeated after any error. When ctx ends, it stops between two steps with the log
// under its name.
func (d *Dir) Rotate(ctx context.Context, l Log, p policy.Logs, now time.Time, reopen func(context.Context) error) error {
	dir, err := d.openLogDir(l)
	if err != nil {
		return err
	}
	defer dir.Close()
	info, err := statLog(dir, l)
	switch {
	case errors.Is(err, ErrLogMissing):
		if err := reopen(ctx); err != nil {
			return fmt.Errorf("logfiles: reopen the missing log of container %s: %w", l.Container, err)
		}
		_, err = statLog(dir, l)
		return err
	case err != nil:
		return err
	case info.Size() < p.MaxBytes:
		return nil
	}
	files, err := rotatedFilesOfLog(dir, l, info)
	if err != nil {
		return fmt.Errorf("logfiles: logs of container %s: %w", l.Container, err)
	}
	r := p.Rotate(l.fileName(), files, now)
	errs := removeFiles(dir, r.Remove)
	if err := renameAndReopenOrRestore(ctx, dir, l, r.Name, reopen); err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, name := range r.Compress {
		if ctx.Err() != nil {
			break // The next rotation compresses it.
		}
		if err := replaceByCompressed(ctx, dir, name); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrRotationIncomplete, errors.Join(errs...))
	}
	return nil
}

// rotatedFilesOfLog returns the regular files that belong to the same attempt as a log, sorted by name, without
// the log itself. The field Live is true for a file that is a hard link to the log.
func rotatedFilesOfLog(dir *os.Root, l Log, logInfo fs.FileInfo) (files []policy.LogFile, err error) {
	var names []string
	err = forEachEntry(dir, func(e fs.DirEntry) bool {
		if n, ok := policy.AttemptOfLog(e.Name()); ok && n == l.Attempt && e.Name() != l.fileName() && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
		return true
	})
	if err != nil && !errors.Is(err, ErrTooMany) { // Remove the files that were read; a later call removes the rest.
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		info, err := dir.Lstat(name)
		if err == nil && info.Mode().IsRegular() {
			files = append(files, policy.LogFile{Name: name, Live: os.SameFile(info, logInfo)})
		}
	}
	return files, nil
}

// removeFiles removes the named files of a directory, continues after an error, and returns the errors. A
// missing file is no error.
func removeFiles(dir *os.Root, names []string) (errs []error) {
	for _, name := range names {
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("logfiles: %w", err))
		}
	}
	return errs
}

// renameAndReopenOrRestore renames the log and calls reopen, with which the runtime creates a new log. If
// reopen fails and there is no new file, it restores the old name. If reopen fails and there is a new file, it
// calls reopen once more, because perhaps only the runtime's reply did not arrive.
func renameAndReopenOrRestore(ctx context.Context, dir *os.Root, l Log, newName string, reopen func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := dir.Rename(l.fileName(), newName); err != nil {
		return fmt.Errorf("logfiles: rotate the log of container %s: %w", l.Container, err)
	}
	err := reopen(ctx)
	if err == nil {
		return nil
	}
	if undone := restoreNameUnlessTaken(dir, newName, l.fileName()); errors.Is(undone, fs.ErrExist) {
		if err = reopen(ctx); err == nil { // Once more, to be sure that the runtime does not write to the old file.
			return nil
		}
	} else if undone != nil {
		err = fmt.Errorf("%w, and cannot restore its name: %w", err, undone)
	}
	return fmt.Errorf("logfiles: reopen the log of container %s: %w", l.Container, err)
}

// restoreNameUnlessTaken renames a rotated file back to the name of the log. If the runtime has created a file
// with that name, it renames nothing and returns fs.ErrExist.
func restoreNameUnlessTaken(dir *os.Root, name, logName string) error {
	err := dir.Link(name, logName)
	if err == nil {
		return dir.Remove(name)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	switch _, err := dir.Lstat(logName); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return dir.Rename(name, logName)
}

// copyChunkBytes is how many bytes are copied between two checks of the context.
const copyChunkBytes = 1 << 20

// replaceByCompressed compresses a file and removes the original. The compressed file has a temporary name
// until it is complete and synced. After a failed compression the temporary file is removed and the original
// stays.
func replaceByCompressed(ctx context.Context, dir *os.Root, name string) error {
	whole, part := policy.Compressed(name)
	err := writeCompressed(ctx, dir, name, part)
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
		return fmt.Errorf("logfiles: remove %s after its compression: %w", name, err)
	}
	return nil
}

// writeCompressed writes the gzip-compressed content of a regular file to a new file. It returns an error if
// the new file exists or ctx ends.
func writeCompressed(ctx context.Context, dir *os.Root, name, part string) (err error) {
	from, mode, err := openRegular(dir, name)
	if err != nil {
		return err
	}
	defer from.Close() // It was opened for reading.
	to, err := dir.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	packer := gzip.NewWriter(to)
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(packer, from, copyChunkBytes)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, packer.Close(), to.Sync(), to.Close())
}

// openRegular opens a regular file for reading and returns its mode. It returns ErrNotRegular for a symbolic
// link and any other file, also if such a file replaces the regular one meanwhile.
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
		_ = f.Close() // It was opened for reading.
		return nil, 0, err
	}
	return f, info.Mode(), nil
}
