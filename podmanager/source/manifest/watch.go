package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// announcer is the system's way to say that something has changed: fsnotify, or
// what a test puts in its place.
type announcer struct {
	add, remove func(dir string) error
	close       func() error
	events      <-chan fsnotify.Event
	errors      <-chan error
}

func newAnnouncer() (*announcer, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &announcer{add: w.Add, remove: w.Remove, close: w.Close, events: w.Events, errors: w.Errors}, nil
}

// watch is the system's word that something in a directory has changed. It is a
// hint and nothing more: each one leads to a full scan, and the poll beneath
// finds what it misses (F35).
//
// While the directory is not there, and where the path is a link that may be switched,
// the nearest directory above it is watched too, for the name that leads to it.
type watch struct {
	dir    string
	only   string // the name of the only file, or empty
	new    func() (*announcer, error)
	system *announcer // nil while the system grants none
	on     watched
}

// watched is what a watch is on.
type watched struct {
	dir   fs.FileInfo // the directory; nil if it is not there
	above string      // the directory above it that is watched; empty for none
	name  string      // what in that one leads to the directory
}

// watchFor makes the watch for the path: of a single file the directory is watched,
// since the file may be replaced. What is not there yet is taken for a directory until
// it is known to be a file.
func (s *Source) watchFor(last *watch) *watch {
	switch {
	case s.cfg.FS != nil:
		return nil
	case last == nil && s.kind != single:
		return &watch{dir: s.cfg.Path, new: s.newAnnouncer}
	case s.kind == single && (last == nil || last.only == ""):
		last.close()
		return &watch{dir: filepath.Dir(s.cfg.Path), only: filepath.Base(s.cfg.Path), new: s.newAnnouncer}
	}
	return last
}

// keepWatch ensures the watch and tells, once, if there is none.
func (s *Source) keepWatch(ctx context.Context, w *watch) {
	if w == nil {
		return
	}
	switch err := s.ensure(ctx, w); {
	case err == nil:
		s.faults.end(aboutWatch)
	case errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil: // The listing says so too, or nobody listens.
	default:
		s.faults.tellOnce(aboutWatch, Problem{Path: w.dir, Err: fmt.Errorf("%w, changes are found by polling: %w", ErrNoWatch, err)}, nil)
	}
}

// ensure puts the watch on the directory that is there now, if it is not on it
// already. It is called before each scan, so that what changes after the scan
// is announced.
func (s *Source) ensure(ctx context.Context, w *watch) error {
	if w.system == nil {
		system, err := w.new()
		if err != nil {
			return err
		}
		w.system = system
	}
	system, dir, on := w.system, w.dir, w.on // The call may outlive this one.
	now, err := s.slow.ask(ctx, "\x00watch", func() (any, error) { return system.rewatch(dir, on), nil })
	if err != nil {
		w.on = watched{}
		return err
	}
	r := now.(rewatched)
	w.on = r.on
	return r.err
}

// rewatched is what rewatch has done.
type rewatched struct {
	on  watched
	err error
}

// rewatch watches dir unless that is the directory already watched, and what is above
// it if that matters. What is above is watched first: a directory that is made
// meanwhile is found, or announced.
func (a *announcer) rewatch(dir string, on watched) rewatched {
	link, err := os.Lstat(dir)
	var above, name string
	if err != nil || link.Mode()&fs.ModeSymlink != 0 {
		above, name = nearest(dir)
	}
	if above != on.above {
		if on.above != "" {
			_ = a.remove(on.above) // It may be gone.
		}
		if above != "" && a.add(above) != nil {
			above = "" // The period finds what happens there.
		}
	}
	now := watched{above: above, name: name}
	info, err := os.Stat(dir)
	if err != nil {
		return rewatched{now, err}
	}
	now.dir = info
	if on.dir != nil && os.SameFile(info, on.dir) {
		return rewatched{now, nil}
	}
	_ = a.remove(dir) // It may be on a directory that was moved away.
	if err = a.add(dir); err != nil {
		now.dir = nil
	}
	return rewatched{now, err}
}

// nearest is the closest directory above a path, and the name in it that leads there.
func nearest(path string) (above, name string) {
	for {
		above, name = filepath.Dir(path), filepath.Base(path)
		if above == path {
			return "", ""
		}
		if info, err := os.Stat(above); err == nil && info.IsDir() {
			return above, name
		}
		path = above
	}
}

// events is where news comes from; nil, which is never ready, without a watch.
func (w *watch) events() <-chan fsnotify.Event {
	if w == nil || w.system == nil {
		return nil
	}
	return w.system.events
}

// errors is where overflows and the like come from.
func (w *watch) errors() <-chan error {
	if w == nil || w.system == nil {
		return nil
	}
	return w.system.errors
}

// matters reports whether an event can be about a manifest.
func (w *watch) matters(e fsnotify.Event) bool {
	if e.Name == w.dir {
		w.on.dir = nil // Moved, removed or made: look where the path leads now.
		return true
	}
	if above := w.on.above; above != "" && (e.Name == above || filepath.Dir(e.Name) == above && above != w.dir) {
		if e.Name != above && filepath.Base(e.Name) != w.on.name {
			return false // Somebody else's.
		}
		w.on = watched{}
		return true
	}
	name := filepath.Base(e.Name)
	if strings.HasPrefix(name, "..") {
		return true // The link that a config map's volume is switched with.
	}
	if w.only != "" {
		return name == w.only
	}
	return !ignored(name)
}

func (w *watch) close() {
	if w != nil && w.system != nil {
		_ = w.system.close() // There is nobody to tell that it cannot be closed.
	}
}
