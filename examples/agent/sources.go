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

// newPodSources returns the sources of pods by name: the manifest files and the manifest URL, each if it is
// set. For "agent run" it returns none. With a configuration file the sources can be replaced later.
func (a *agent) newPodSources() (map[string]source.Source, error) {
	all := map[string]source.Source{}
	if a.pods != nil {
		return all, nil
	}
	files, err := a.newManifestOrExampleSource(a.log)
	if err != nil {
		return nil, err
	}
	web, err := a.newURLSource(a.log)
	if err != nil {
		return nil, err
	}
	if a.config != "" {
		a.files, a.web = newReplaceableSource(files), newReplaceableSource(web)
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

// newManifestOrExampleSource returns the source of manifest files. If the agent uses the embedded examples, the source reads
// those. Otherwise it reads the path of manifests. It returns nil without an error if there is no path either. It
// returns an error if the configuration is invalid.
func (o *options) newManifestOrExampleSource(log *slog.Logger) (source.Source, error) {
	c := manifest.Config{Path: o.manifests, NodeName: o.nodeName, Objects: o.mayReferToObjects(), Strict: o.strict, Period: o.filePeriod, Report: problemLogger(log), Resolved: resolvedLogger(log)}
	switch {
	case o.usesEmbeddedExamples():
		c.FS, _ = fs.Sub(examples, "manifests") // The path is constant and valid.
		c.Path = "."
	case o.manifests == "":
		return nil, nil
	default:
		var err error
		if c.StateDir, err = o.sourceStateDirPathOrEmpty(); err != nil {
			return nil, err
		}
	}
	return manifest.New(c)
}

// newURLSource returns the source for --manifest-url, or nil if the flag is not set. The source stores the last
// valid manifest in the state directory if one is set.
func (o *options) newURLSource(log *slog.Logger) (source.Source, error) {
	if o.manifestURL == "" {
		return nil, nil
	}
	c := manifest.URLConfig{
		URL: o.manifestURL, Header: o.urlHeader, NodeName: o.nodeName, Objects: o.mayReferToObjects(), Strict: o.strict, Period: o.urlPeriod, Report: problemLogger(log), Resolved: resolvedLogger(log),
	}
	var err error
	if c.StateDir, err = o.sourceStateDirPathOrEmpty(); err != nil {
		return nil, err
	}
	return manifest.NewURL(c)
}

// sourceStateDirPathOrEmpty returns the directory in which sources store valid manifests, or "" if no state directory is
// set.
func (o *options) sourceStateDirPathOrEmpty() (string, error) {
	if o.stateDir == "" {
		return "", nil
	}
	dir, err := filepath.Abs(o.stateDir)
	return filepath.Join(dir, "sources"), err
}

// setManifestURL stores the URL. It returns an error unless it is empty or an http or https URL.
func (o *options) setManifestURL(s string) error {
	o.manifestURL = s
	u, err := url.Parse(s)
	if s != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("expected an address, as https://example.com/pods.yaml")
	}
	return nil
}

// setManifestURLHeader adds HTTP headers to the headers that earlier flags have set. If s has a line break,
// line breaks separate the headers. If s has none, commas separate them.
func (o *options) setManifestURLHeader(s string) error {
	separator := ","
	if strings.Contains(s, "\n") {
		s, separator = strings.TrimSuffix(s, "\n"), "\n"
	}
	if o.urlHeader == nil {
		o.urlHeader = http.Header{}
	}
	for pair := range strings.SplitSeq(s, separator) {
		name, value, ok := strings.Cut(pair, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsFunc(strings.TrimSpace(pair), isInvalidHeaderRune) {
			return errors.New("expected headers, as Authorization:Bearer x,Accept:text/yaml")
		}
		o.urlHeader.Add(name, strings.TrimSpace(value))
	}
	return nil
}

// isInvalidHeaderRune reports whether a character is a control character other than a tab, which a header must
// not contain.
func isInvalidHeaderRune(r rune) bool { return unicode.IsControl(r) && r != '\t' }

// setManifestURLPeriod parses and stores the period between two requests to the manifest URL. It returns an
// error if s is no duration of at least a second.
func (o *options) setManifestURLPeriod(s string) error {
	if err := positiveDurationFlag(&o.urlPeriod)(s); err != nil || o.urlPeriod < time.Second {
		return errors.New("expected a duration from 1s")
	}
	return nil
}

// replaceableSource is a source that can be replaced while it runs. If its current source is nil it has no pods.
type replaceableSource struct {
	mu      sync.Mutex
	current source.Source
	changed chan struct{} // closed when current is replaced
}

// newReplaceableSource returns a source that runs first until replaceCurrent replaces it. first may be nil.
func newReplaceableSource(first source.Source) *replaceableSource {
	return &replaceableSource{current: first, changed: make(chan struct{})}
}

// replaceCurrent replaces the current source, and makes Run stop the previous one. A nil source delivers no
// pods.
func (s *replaceableSource) replaceCurrent(next source.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.current, s.changed = next, make(chan struct{})
}

var _ source.FaultReporter = (*replaceableSource)(nil)

// Faults implements source.FaultReporter.
func (s *replaceableSource) Faults() source.Faults {
	if r, ok := s.currentSource().(source.FaultReporter); ok {
		return r.Faults()
	}
	return source.Faults{}
}

// FaultOf implements source.FaultReporter.
func (s *replaceableSource) FaultOf(uid types.UID) (source.Fault, bool) {
	if r, ok := s.currentSource().(source.FaultReporter); ok {
		return r.FaultOf(uid)
	}
	return source.Fault{}, false
}

// currentSource returns the current source.
func (s *replaceableSource) currentSource() source.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// Run implements source.Source. The pods of the previous source stay until the next source delivers a snapshot.
func (s *replaceableSource) Run(ctx context.Context, sink source.Sink) error {
	for ctx.Err() == nil {
		s.mu.Lock()
		current, changed := s.current, s.changed
		s.mu.Unlock()
		if err := runUntilReplaced(ctx, current, sink, changed); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// runUntilReplaced runs a source until it returns, ctx is done or changed is closed. If the source is nil, it
// delivers a snapshot without pods and returns.
func runUntilReplaced(ctx context.Context, current source.Source, sink source.Sink, changed <-chan struct{}) error {
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
