package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// kindOfPath is what the configured path is. What it was first it has to stay:
// a directory that is a file today is a mistake, not an empty directory (F29).
type kindOfPath int

const (
	unseen kindOfPath = iota
	directory
	single
)

// errChanged is a path that is not what it was.
var errChanged = errors.New("it was a directory and is a file now, or the other way round")

// listing is what one look at the path found.
type listing struct {
	kind  kindOfPath
	paths []string // sorted
}

// list says which files there are. Only when it succeeds can a file be gone.
func (s *Source) list(ctx context.Context) ([]string, error) {
	kind, limit := s.kind, s.cfg.MaxFiles // The call may outlive this scan.
	got, err := s.slow.ask(ctx, "", func() (any, error) { return lookAt(s.place, s.cfg.Path, s.cfg.StateDir, kind, limit) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrListing, err)
	}
	l := got.(listing)
	s.kind = l.kind
	return l.paths, nil
}

// lookAt lists a path of a kind. state is Config.StateDir.
func lookAt(p place, path, state string, kind kindOfPath, limit int) (listing, error) {
	info, err := p.stat()
	if err != nil {
		if kind == single && p.gone() {
			return listing{kind: single}, nil
		}
		return listing{}, err
	}
	found := single
	if info.IsDir() {
		found = directory
	}
	switch {
	case kind != unseen && kind != found:
		return listing{}, errChanged
	case found == single && !info.Mode().IsRegular():
		return listing{}, notFile(info)
	case found == single:
		return listing{single, []string{path}}, nil
	}
	names, err := p.names(limit)
	if err != nil {
		return listing{}, err
	}
	l := listing{kind: directory}
	for _, name := range names {
		if !ignored(name) || wasReadBefore(state, p.file(name)) {
			l.paths = append(l.paths, p.file(name))
		}
	}
	slices.Sort(l.paths)
	return l, nil
}
