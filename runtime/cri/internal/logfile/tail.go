package logfile

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/podkeel/podkeel/runtime/cri/internal/crilog"
)

// lastLines finds where the last n lines of a container begin in a file of that
// size, reading it from its end, no further than need be. A line that has begun
// and not ended is one too. Where two streams print long lines at once the first
// of the lines may lack its beginning. A log that is not rotated may be long, so the end of ctx
// ends the search.
func lastLines(ctx context.Context, f io.ReaderAt, size int64, n int) (int64, error) {
	s := search{n: n, begins: size, size: size}
	// head is what follows the block that is looked at: enough of it to tell what
	// the line is that begins at the end of the block.
	var head []byte
	block := make([]byte, blockBytes, blockBytes+crilog.HeadBytes)
	for end := size; end > 0; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		start := max(end-blockBytes, 0)
		b := block[:end-start]
		switch k, err := f.ReadAt(b, start); {
		case k == len(b):
		case errors.Is(err, io.EOF):
			return 0, nil // It has been cut meanwhile: what there is is new.
		default:
			return 0, err
		}
		b = append(b, head...)
		for i := int(end-start) - 1; i >= 0; i-- {
			if b[i] == '\n' && s.back(start+int64(i)+1, kindOf(b[i+1:])) {
				return s.begins, nil
			}
		}
		if start == 0 && s.back(0, kindOf(b)) {
			return s.begins, nil
		}
		head = append(head[:0], b[:min(len(b), crilog.HeadBytes)]...)
		end = start
	}
	return 0, nil
}

// search goes back over the lines of a file.
type search struct {
	n, found     int
	begins, size int64 // where the lines begin that were found
}

// back takes the line before. It reports whether that is one too many.
func (s *search) back(at int64, k kind) bool {
	if k == none {
		return false
	}
	if k == whole || s.begins == s.size {
		if s.found == s.n {
			return true
		}
		s.found++
	}
	s.begins = at
	return false
}

// kind is what a line of the file is.
type kind uint8

const (
	none  kind = iota
	piece      // of a line that goes on
	whole      // or the last piece
)

// kindOf tells it by the beginning of the line.
func kindOf(b []byte) kind {
	b = b[:min(len(b), crilog.HeadBytes)]
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	switch e, ok := crilog.Parse(b); {
	case !ok:
		return none
	case e.Full:
		return whole
	}
	return piece
}
