package logfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/runtime/cri/internal/crilog"
)

const (
	// blockBytes is how many bytes are read at once.
	blockBytes = 32 << 10
	// pollPeriod is how often a followed file is checked.
	pollPeriod = 200 * time.Millisecond
	// maxOpenRetries limits how often a missing log of a running container is opened again: it may
	// be in the middle of a rotation.
	maxOpenRetries = 5
	// exitCheckPeriod is how often HasExited is called.
	exitCheckPeriod = time.Second
)

// Request selects a log and a part of it.
type Request struct {
	Path  string
	Tail  int // only the last lines; 0 is all
	Since time.Time
	// Timestamps is the format of the timestamp before each line. Empty: no timestamps.
	Timestamps string
	Follow     bool // continue until HasExited
	// HasExited reports whether the container has exited and prints nothing more. It is called
	// once, or with Follow once per exitCheckPeriod, by one caller.
	HasExited func(ctx context.Context) bool
	// Executor waits.
	Executor executor.Executor
}

// Read writes the log of a container to w, and with Follow its further output. A missing file is an
// error that wraps fs.ErrNotExist. With Follow, Read waits for the file.
func Read(ctx context.Context, req Request, w io.Writer) error {
	r := &reader{Request: req, w: w, decoder: crilog.Decoder{Since: req.Since, Timestamps: req.Timestamps}, block: make([]byte, blockBytes)}
	defer r.close()
	err := r.openPathAndCloseOld(ctx, true)
	for n := 0; n < maxOpenRetries && errors.Is(err, fs.ErrNotExist) && !req.Follow && !req.HasExited(ctx); n++ {
		if err := req.Executor.Sleep(ctx, pollPeriod); err != nil {
			return err
		}
		err = r.openPathAndCloseOld(ctx, true)
	}
	if err != nil && !(req.Follow && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if req.Follow {
		return r.followUntilExit(ctx)
	}
	// Read up to the current size only.
	info, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("logfile: %w", err)
	}
	over := req.HasExited(ctx)
	if err := r.readUntil(ctx, info.Size()); err != nil {
		return err
	}
	if over {
		return r.write(r.decoder.End(nil))
	}
	return ctx.Err()
}

// reader is one call of Read.
type reader struct {
	Request
	w           io.Writer
	decoder     crilog.Decoder
	file        *os.File // nil: no file was opened yet
	offset      int64    // position of the next read
	oldFileDone bool     // another file is at the path, and the last check found nothing new in this one
	block       []byte
	outBuffer   []byte
}

func (r *reader) close() {
	if r.file != nil {
		_ = r.file.Close() // It was only read.
	}
}

// openPathAndCloseOld opens the log file at the path and closes the previously open file. If first is true and
// Tail is set, reading begins at the last Tail lines. In any other case it begins at the start of the file.
func (r *reader) openPathAndCloseOld(ctx context.Context, first bool) error {
	f, err := openRegular(r.Path)
	if err != nil {
		return err
	}
	r.close()
	r.file, r.offset, r.oldFileDone = f, 0, false
	if first && r.Tail > 0 {
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("logfile: %w", err)
		}
		r.offset, err = offsetOfLastLines(ctx, f, info.Size(), r.Tail)
		if err != nil {
			return fmt.Errorf("logfile: %w", err)
		}
	}
	return nil
}

// followUntilExit copies new log lines until the container has exited and all its lines are read. It returns an
// error if ctx ends, or if the file cannot be read or the lines cannot be written.
func (r *reader) followUntilExit(ctx context.Context) error {
	var asked time.Time
	over := false
	for {
		read, err := r.readNewData(ctx)
		if err != nil {
			return err
		}
		switch {
		case read: // Read again before the next exit check counts.
			over = false
		case over:
			return r.write(r.decoder.End(nil))
		case !r.Executor.Now().Before(asked.Add(exitCheckPeriod)):
			asked = r.Executor.Now()
			if over = r.HasExited(ctx); over {
				continue // Read once more: the last output may just have been written.
			}
		}
		if err := r.Executor.Sleep(ctx, pollPeriod); err != nil {
			return err
		}
	}
}

// readNewData copies the new content of the log file. After the runtime has replaced the file, it opens the new
// file when two calls in a row have found nothing new in the old one. It returns true if the caller must call
// it again before the log counts as read.
func (r *reader) readNewData(ctx context.Context) (callAgain bool, err error) {
	if r.file == nil {
		switch err := r.openPathAndCloseOld(ctx, false); {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, err
		}
	}
	before := r.offset
	replaced, err := r.resetIfTruncatedAndCheckReplaced()
	if err == nil {
		err = r.readUntil(ctx, -1)
	}
	read := r.offset != before
	if err != nil || !replaced {
		r.oldFileDone = false
		return read, err
	}
	// The runtime may still append the last lines to the old file after it has created
	// the new one. The old file is complete when two checks in a row find nothing new.
	if read || !r.oldFileDone {
		r.oldFileDone = true
		return true, nil
	}
	switch err := r.openPathAndCloseOld(ctx, false); {
	case errors.Is(err, fs.ErrNotExist):
		return read, nil // Another rotation is in progress.
	case err != nil:
		return read, err
	}
	r.decoder.DiscardPartialLine()
	return true, r.readUntil(ctx, -1)
}

// resetIfTruncatedAndCheckReplaced reports whether another file is at the path now. If the open file was
// truncated, it also moves the reader back to the beginning of the file.
func (r *reader) resetIfTruncatedAndCheckReplaced() (replaced bool, err error) {
	info, err := r.file.Stat()
	if err != nil {
		return false, fmt.Errorf("logfile: %w", err)
	}
	if info.Size() < r.offset {
		r.offset = 0
		r.decoder.DiscardPartialLine()
	}
	now, err := os.Lstat(r.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil // It was renamed; the new file does not exist yet.
	case err != nil:
		return false, fmt.Errorf("logfile: %w", err)
	}
	return !os.SameFile(info, now), nil
}

// readUntil decodes the file from the current offset up to end and writes the log lines to the client. A
// negative end means the end of the file.
func (r *reader) readUntil(ctx context.Context, end int64) error {
	for end < 0 || r.offset < end {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := r.block
		if end >= 0 {
			block = block[:min(int64(len(block)), end-r.offset)]
		}
		n, err := r.file.ReadAt(block, r.offset)
		r.offset += int64(n)
		if werr := r.write(r.decoder.Feed(r.outBuffer[:0], block[:n])); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("logfile: %w", err)
		}
	}
	return nil
}

func (r *reader) write(out []byte) error {
	if len(out) == 0 {
		return nil
	}
	r.outBuffer = out
	if _, err := r.w.Write(out); err != nil {
		return fmt.Errorf("logfile: %w", err)
	}
	return nil
}

// ErrNotRegular is the error for a link, a pipe, a directory or any other path that is no regular
// file.
var ErrNotRegular = errors.New("logfile: not a regular file")

// openRegular opens a regular file for reading. It returns ErrNotRegular if the path is a symbolic link or any
// other kind of file.
func openRegular(path string) (*os.File, error) {
	f, err := osfile.OpenPathNoFollow(path)
	switch {
	case errors.Is(err, osfile.ErrNotRegular):
		return nil, fmt.Errorf("%w: %s", ErrNotRegular, path)
	case err != nil:
		return nil, fmt.Errorf("logfile: %w", err)
	}
	return f, nil
}
