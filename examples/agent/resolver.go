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
	// maxResolver is how much of a resolver configuration is read.
	maxResolver = 64 << 10
)

// setResolver reads the file once, so that a typing error is reported at once.
func (o *options) setResolver(path string) error {
	o.resolver = &path
	if path == "" {
		return nil
	}
	_, err := readResolver(path)
	return err
}

// hostResolver reads the host's resolver configuration again for each pod: networks
// come and go. Nil leaves it to the runtime.
func (o *options) hostResolver() (func() (runtime.DNS, error), error) {
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
			return runtime.DNS{}, nil // A host without one resolves no names, and neither do its pods.
		}
		if err != nil {
			return runtime.DNS{}, fmt.Errorf("%s: %w", path, err)
		}
		return d, nil
	}, nil
}

// readResolver reads a file, which may be a link: /etc/resolv.conf mostly is.
func readResolver(path string) (runtime.DNS, error) {
	text, err := readAtMost(path, maxResolver)
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err // The path is known.
	}
	return podsync.ParseResolver(string(text)), err
}

// readAtMost reads a regular file whole; one that is larger is an error. A pipe, or a file of the
// kernel that looks regular, such as /proc/kmsg, is not waited for.
func readAtMost(path string, most int64) ([]byte, error) {
	f, err := osfile.OpenPath(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("has more than %d bytes", most)
	}
	return text, err
}
