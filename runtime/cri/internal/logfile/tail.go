package logfile

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/podkeel/podkeel/runtime/cri/internal/crilog"
)

// offsetOfLastLines returns the offset in the file at which the last n log lines begin, or 0 if there are no
// more than n lines. It reads backwards from the end, no further than necessary, and stops if ctx ends. The
// parts of one long line count as one line; an incomplete line counts too.
func offsetOfLastLines(ctx context.Context, f io.ReaderAt, size int64, n int) (int64, error) {
	s := backwardSearch{n: n, start: size, size: size}
	// head is the beginning of the block behind the current one. It completes a line that
	// begins at the end of the current block.
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
			return 0, nil // The file was truncated: all of its content is new.
		default:
			return 0, err
		}
		b = append(b, head...)
		for i := int(end-start) - 1; i >= 0; i-- {
			if b[i] == '\n' && s.countLineAndCheckFound(start+int64(i)+1, classifyLine(b[i+1:])) {
				return s.start, nil
			}
		}
		if start == 0 && s.countLineAndCheckFound(0, classifyLine(b)) {
			return s.start, nil
		}
		head = append(head[:0], b[:min(len(b), crilog.HeadBytes)]...)
		end = start
	}
	return 0, nil
}

// backwardSearch counts the lines of a container from the end of a file.
type backwardSearch struct {
	n, found    int
	start, size int64 // start is where the found lines begin
}

// countLineAndCheckFound counts the line at an offset and stores the offset as the new start of the result. It
// returns true, and stores nothing, if the required number of lines was already found. Parts of one long line
// count once; a line that is not in the log format is ignored.
func (s *backwardSearch) countLineAndCheckFound(offset int64, k lineKind) (foundBefore bool) {
	if k == notALine {
		return false
	}
	if k == fullLine || s.start == s.size {
		if s.found == s.n {
			return true
		}
		s.found++
	}
	s.start = offset
	return false
}

// lineKind classifies a line of the file.
type lineKind uint8

const (
	notALine    lineKind = iota
	partialLine          // part of a line of the container that continues
	fullLine             // a full line, or the last part of one
)

// classifyLine returns whether the line at the beginning of b is a full line, a part of a line, or not in the
// log format.
func classifyLine(b []byte) lineKind {
	b = b[:min(len(b), crilog.HeadBytes)]
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	switch e, ok := crilog.Parse(b); {
	case !ok:
		return notALine
	case e.Full:
		return fullLine
	}
	return partialLine
}
