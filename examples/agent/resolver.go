package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
)

const (
	defaultResolver = "/etc/resolv.conf"
	// maxResolver is the maximum size of a resolver configuration.
	maxResolver = 64 << 10
)

// setResolverFile stores the path of the resolver configuration. It returns an error if the file cannot be
// read. An empty path is valid.
func (o *options) setResolverFile(path string) error {
	o.resolver = &path
	if path == "" {
		return nil
	}
	_, err := readResolver(path)
	return err
}

// newReaderOfResolverFileOrDefault returns a function that reads the resolver file. The node calls the function
// for each pod, because networks change. Without the flag --resolv-conf the file is /etc/resolv.conf, and the
// function returns an empty configuration if that file does not exist. If the flag is empty, it returns nil,
// and the runtime chooses the configuration.
func (o *options) newReaderOfResolverFileOrDefault() (func() (runtime.DNS, error), error) {
	path, missing := defaultResolver, true
	if o.resolver != nil {
		path, missing = *o.resolver, false
	}
	if path == "" {
		return nil, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("--resolv-conf %q: %w", path, err)
	}
	return func() (runtime.DNS, error) {
		d, err := readResolver(path)
		if missing && errors.Is(err, fs.ErrNotExist) {
			return runtime.DNS{}, nil // A host without the file resolves no names, so its pods do not either.
		}
		if err != nil {
			return runtime.DNS{}, fmt.Errorf("%s: %w", path, err)
		}
		return d, nil
	}, nil
}

// readResolver reads and parses a resolver configuration. The path may be a symbolic link, as /etc/resolv.conf
// often is.
func readResolver(path string) (runtime.DNS, error) {
	text, err := readFileAtMost(path, maxResolver)
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err // The caller names the path.
	}
	return podsync.ParseResolver(string(text)), err
}

// readFileAtMost reads a whole regular file. It returns an error if the file is larger than limit, or is a pipe
// or a kernel file such as /proc/kmsg, on which a read could block.
func readFileAtMost(path string, limit int64) ([]byte, error) {
	f, err := osfile.OpenPath(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("has more than %d bytes", limit)
	}
	return text, err
}
