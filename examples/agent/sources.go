package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// sources are where the pods come from, by name.
func (a *agent) sources() (map[string]source.Source, error) {
	all := map[string]source.Source{}
	if a.pods != nil {
		return all, nil
	}
	files, err := a.fileSource(a.log)
	if err != nil {
		return nil, err
	}
	web, err := a.urlSource(a.log)
	if err != nil {
		return nil, err
	}
	if a.config != "" {
		a.files, a.web = newSwap(files), newSwap(web)
		files, web = a.files, a.web
	}
	if files != nil {
		all[podmanager.FileSource] = files
	}
	if web != nil {
		all[podmanager.HTTPSource] = web
	}
	return all, nil
}

// fileSource has the manifests of the machine; nil is none.
func (o *options) fileSource(log *slog.Logger) (source.Source, error) {
	c := manifest.Config{Path: o.manifests, NodeName: o.nodeName, Objects: o.hasObjects(), Strict: o.strict, Period: o.filePeriod, Report: reporter(log), Resolved: relief(log)}
	switch {
	case o.embedded():
		c.FS, _ = fs.Sub(examples, "manifests") // The path is constant and valid.
		c.Path = "."
	case o.manifests == "":
		return nil, nil
	default:
		var err error
		if c.StateDir, err = o.sourceState(); err != nil {
			return nil, err
		}
	}
	return manifest.New(c)
}

// urlSource has the manifest of a server; nil is none. Its last good answer is kept in the state directory.
func (o *options) urlSource(log *slog.Logger) (source.Source, error) {
	if o.manifestURL == "" {
		return nil, nil
	}
	c := manifest.URLConfig{
		URL: o.manifestURL, Header: o.urlHeader, NodeName: o.nodeName, Objects: o.hasObjects(), Strict: o.strict, Period: o.urlPeriod, Report: reporter(log), Resolved: relief(log),
	}
	var err error
	if c.StateDir, err = o.sourceState(); err != nil {
		return nil, err
	}
	return manifest.NewURL(c)
}

// sourceState is where sources keep what they have read; empty without a state directory.
func (o *options) sourceState() (string, error) {
	if o.stateDir == "" {
		return "", nil
	}
	dir, err := filepath.Abs(o.stateDir)
	return filepath.Join(dir, "sources"), err
}

// setURL wants the address of a manifest; empty is none.
func (o *options) setURL(s string) error {
	o.manifestURL = s
	u, err := url.Parse(s)
	if s != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("expected an address, as https://example.com/pods.yaml")
	}
	return nil
}

// setURLHeader adds headers, with commas between them, or each on a line.
func (o *options) setURLHeader(s string) error {
	separator := ","
	if strings.Contains(s, "\n") {
		s, separator = strings.TrimSuffix(s, "\n"), "\n"
	}
	if o.urlHeader == nil {
		o.urlHeader = http.Header{}
	}
	for pair := range strings.SplitSeq(s, separator) {
		name, value, ok := strings.Cut(pair, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsFunc(strings.TrimSpace(pair), isNoHeader) {
			return errors.New("expected headers, as Authorization:Bearer x,Accept:text/yaml")
		}
		o.urlHeader.Add(name, strings.TrimSpace(value))
	}
	return nil
}

// isNoHeader reports whether a character cannot be in a header.
func isNoHeader(r rune) bool { return unicode.IsControl(r) && r != '\t' }

// setURLPeriod wants a second at least.
func (o *options) setURLPeriod(s string) error {
	if err := positive(&o.urlPeriod)(s); err != nil || o.urlPeriod < time.Second {
		return errors.New("expected a duration from 1s")
	}
	return nil
}

// swap is a source that can be replaced while it runs. Without one it has no pods.
type swap struct {
	mu      sync.Mutex
	current source.Source
	changed chan struct{} // closed when another one takes the place of current
}

func newSwap(first source.Source) *swap {
	return &swap{current: first, changed: make(chan struct{})}
}

// set makes another source the current one; nil is none.
func (s *swap) set(next source.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.current, s.changed = next, make(chan struct{})
}

var _ source.FaultReporter = (*swap)(nil)

// Faults implements source.FaultReporter.
func (s *swap) Faults() source.Faults {
	if r, ok := s.now().(source.FaultReporter); ok {
		return r.Faults()
	}
	return source.Faults{}
}

// FaultOf implements source.FaultReporter.
func (s *swap) FaultOf(uid types.UID) (source.Fault, bool) {
	if r, ok := s.now().(source.FaultReporter); ok {
		return r.FaultOf(uid)
	}
	return source.Fault{}, false
}

func (s *swap) now() source.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// Run implements source.Source. What the last source has said stays until the next one says
// something.
func (s *swap) Run(ctx context.Context, sink source.Sink) error {
	for ctx.Err() == nil {
		s.mu.Lock()
		current, changed := s.current, s.changed
		s.mu.Unlock()
		if err := runUntil(ctx, current, sink, changed); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// runUntil runs a source until ctx ends or another one takes its place.
func runUntil(ctx context.Context, current source.Source, sink source.Sink, changed <-chan struct{}) error {
	if current == nil {
		sink.Set(source.Snapshot{})
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	defer func() { cancel(); <-over }()
	go func() {
		defer close(over)
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return current.Run(ctx, sink)
}
