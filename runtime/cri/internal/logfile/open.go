package logfile

import (
	"errors"
	"fmt"
	"os"
)

// ErrNotRegular is returned for what is no regular file: a link, a pipe, a
// directory.
var ErrNotRegular = errors.New("logfile: not a regular file")

// openRegular opens a file and nothing else. A pipe is opened without waiting for
// whoever writes to it, to be closed again.
func openRegular(path string) (*os.File, error) {
	f, err := openFile(path)
	if isNotRegular(err) {
		return nil, fmt.Errorf("%w: %s", ErrNotRegular, path)
	}
	if err != nil {
		return nil, fmt.Errorf("logfile: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s", ErrNotRegular, path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
