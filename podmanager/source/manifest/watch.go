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
type watch struct {
	dir     string
	only    string // the name of the only file, or empty
	new     func() (*announcer, error)
	system  *announcer  // nil while the system grants none
	watched fs.FileInfo // the directory it is on
}

// watchFor makes the watch for the path, once it is known what that is: of a
// single file the directory is watched, since the file may be replaced.
func (s *Source) watchFor() *watch {
	if s.cfg.FS != nil || s.kind == unseen {
		return nil
	}
	if s.kind == single {
		return &watch{dir: filepath.Dir(s.cfg.Path), only: filepath.Base(s.cfg.Path), new: s.newAnnouncer}
	}
	return &watch{dir: s.cfg.Path, new: s.newAnnouncer}
}

// keepWatch ensures the watch and tells, once, if there is none.
func (s *Source) keepWatch(ctx context.Context, w *watch) {
	if w == nil {
		return
	}
	switch err := s.ensure(ctx, w); {
	case err == nil:
		delete(s.told, "watch")
	case errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil: // The listing says so too, or nobody listens.
	default:
		s.tellOnce("watch", Problem{Path: w.dir, Err: fmt.Errorf("%w, changes are found by polling: %w", ErrNoWatch, err)})
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
	system, dir, watched := w.system, w.dir, w.watched // The call may outlive this one.
	info, err := s.slow.ask(ctx, "\x00watch", func() (any, error) { return system.rewatch(dir, watched) })
	if err != nil {
		w.watched = nil
		return err
	}
	w.watched = info.(fs.FileInfo)
	return nil
}

// rewatch watches dir unless that is the directory already watched.
func (a *announcer) rewatch(dir string, watched fs.FileInfo) (fs.FileInfo, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if watched != nil && os.SameFile(info, watched) {
		return info, nil
	}
	_ = a.remove(dir) // It may be on a directory that was moved away.
	return info, a.add(dir)
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
		w.watched = nil // Moved or removed: look where the path leads now.
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
