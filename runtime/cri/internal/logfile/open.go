package logfile

import (
	"errors"
	"fmt"
	"os"

	"github.com/podkeel/podkeel/internal/osfile"
)

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
