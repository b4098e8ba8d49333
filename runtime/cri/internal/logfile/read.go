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
	// blockBytes is how much is read at once.
	blockBytes = 32 << 10
	// pollPeriod is how often a file is looked at that is followed.
	pollPeriod = 200 * time.Millisecond
	// awayLooks is how often a log is looked for that is not there while its container
	// runs: a rotation takes a moment.
	awayLooks = 5
	// askPeriod is how often the runtime is asked whether the container has ended.
	askPeriod = time.Second
)

// Request says which log is read, and what of it.
type Request struct {
	Path  string
	Tail  int // last lines; 0 is all
	Since time.Time
	// Timestamps is the format of the time before each line. Empty: lines have none.
	Timestamps string
	Follow     bool // go on until Over
	// Over says that the container prints nothing any more. It is called once, or
	// now and then while the log is followed, by one caller.
	Over func(ctx context.Context) bool
	// Executor is what waits.
	Executor executor.Executor
}

// Read writes what the container has printed to w, and goes on with what it
// prints if that is asked for. A file that is not there is an error that wraps
// fs.ErrNotExist, but for who follows: it may come yet.
func Read(ctx context.Context, req Request, w io.Writer) error {
	r := &reader{Request: req, w: w, decoder: crilog.Decoder{Since: req.Since, Timestamps: req.Timestamps}, block: make([]byte, blockBytes)}
	defer r.close()
	err := r.open(ctx, true)
	for n := 0; n < awayLooks && errors.Is(err, fs.ErrNotExist) && !req.Follow && !req.Over(ctx); n++ {
		if err := req.Executor.Sleep(ctx, pollPeriod); err != nil {
			return err
		}
		err = r.open(ctx, true)
	}
	if err != nil && !(req.Follow && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if req.Follow {
		return r.follow(ctx)
	}
	// What is printed from now on is not waited for.
	info, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("logfile: %w", err)
	}
	over := req.Over(ctx)
	if err := r.readTo(ctx, info.Size()); err != nil {
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
	w       io.Writer
	decoder crilog.Decoder
	file    *os.File // nil: there has been none yet
	offset  int64    // how far it is read
	leaving bool     // another one has taken its place
	block   []byte
	out     []byte
}

func (r *reader) close() {
	if r.file != nil {
		_ = r.file.Close() // It was only read.
	}
}

// open opens what stands at the path, and finds where to begin.
func (r *reader) open(ctx context.Context, first bool) error {
	f, err := openRegular(r.Path)
	if err != nil {
		return err
	}
	r.close()
	r.file, r.offset, r.leaving = f, 0, false
	if first && r.Tail > 0 {
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("logfile: %w", err)
		}
		r.offset, err = lastLines(ctx, f, info.Size(), r.Tail)
		if err != nil {
			return fmt.Errorf("logfile: %w", err)
		}
	}
	return nil
}

// follow reads on until the container has ended and all is read.
func (r *reader) follow(ctx context.Context) error {
	var asked time.Time
	over := false
	for {
		read, err := r.catchUp(ctx)
		if err != nil {
			return err
		}
		switch {
		case read: // There may be more.
			over = false
		case over:
			return r.write(r.decoder.End(nil))
		case !r.Executor.Now().Before(asked.Add(askPeriod)):
			asked = r.Executor.Now()
			if over = r.Over(ctx); over {
				continue // What was printed before it ended may have come meanwhile.
			}
		}
		if err := r.Executor.Sleep(ctx, pollPeriod); err != nil {
			return err
		}
	}
}

// catchUp reads all that there is now, and turns to the file that has taken the
// place of the one that was read. It reports whether there was anything new.
func (r *reader) catchUp(ctx context.Context) (bool, error) {
	if r.file == nil {
		switch err := r.open(ctx, false); {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, err
		}
	}
	before := r.offset
	replaced, err := r.replaced()
	if err == nil {
		err = r.readTo(ctx, -1)
	}
	read := r.offset != before
	if err != nil || !replaced {
		r.leaving = false
		return read, err
	}
	// The last lines may still be on their way into the old one when the new one is
	// there: it has been read to its end when nothing has come between two looks.
	if read || !r.leaving {
		r.leaving = true
		return true, nil
	}
	switch err := r.open(ctx, false); {
	case errors.Is(err, fs.ErrNotExist):
		return read, nil // It is being replaced again.
	case err != nil:
		return read, err
	}
	r.decoder.Skip()
	return true, r.readTo(ctx, -1)
}

// replaced reports whether another file stands at the path. A file that has been
// cut is read from its beginning.
func (r *reader) replaced() (bool, error) {
	info, err := r.file.Stat()
	if err != nil {
		return false, fmt.Errorf("logfile: %w", err)
	}
	if info.Size() < r.offset {
		r.offset = 0
		r.decoder.Skip()
	}
	now, err := os.Lstat(r.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil // Moved away: the next one has not come yet.
	case err != nil:
		return false, fmt.Errorf("logfile: %w", err)
	}
	return !os.SameFile(info, now), nil
}

// readTo writes what there is up to an offset; a negative one is the end.
func (r *reader) readTo(ctx context.Context, end int64) error {
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
		if werr := r.write(r.decoder.Feed(r.out[:0], block[:n])); werr != nil {
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
	r.out = out
	if _, err := r.w.Write(out); err != nil {
		return fmt.Errorf("logfile: %w", err)
	}
	return nil
}

// ErrNotRegular is returned for what is no regular file: a link, a pipe, a
// directory.
var ErrNotRegular = errors.New("logfile: not a regular file")

// openRegular opens a file and nothing else.
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
