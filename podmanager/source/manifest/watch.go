package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/fsnotify/fsnotify"
)

// dirWatcher reports changes in directories. It is fsnotify, or a fake in tests.
type dirWatcher struct {
	add, remove func(dir string) error
	// watched returns the directories that were added and are still watched. The system drops the watch of a directory
	// that is removed, moved or unmounted, and fsnotify does not send an event for each drop.
	watched func() []string
	close   func() error
	events  <-chan fsnotify.Event
	errors  <-chan error
	// namesFiles means that each change of a file in a watched directory causes an event that names the file, or an error.
	namesFiles bool
}

// newDirWatcher returns a watcher of directories that uses fsnotify. inotify names each changed file or reports an
// overflow. The events of other systems are hints only.
func newDirWatcher() (*dirWatcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &dirWatcher{
		add: w.Add, remove: w.Remove, close: w.Close, events: w.Events, errors: w.Errors, namesFiles: runtime.GOOS == "linux",
		watched: w.WatchList,
	}, nil
}

// pathWatch reports changes in the directory of manifests, and collects the names of the changed files for the next
// scan. Events are hints: a change without an event is found by the next scan of all files (F35).
//
// While the directory is missing, or if the path is a link that may change, the nearest directory above it is watched
// too, for the name that leads to the directory.
type pathWatch struct {
	dir        string
	fileName   string // the name of the only file, or empty
	newWatcher func() (*dirWatcher, error)
	watcher    *dirWatcher // nil while the system cannot create one
	state      watchState
	changed    changedFiles // since the last scan
}

// watchState is what a pathWatch watches now.
type watchState struct {
	dir    fs.FileInfo // the directory; nil if it does not exist
	parent string      // the directory above it that is watched; empty for none
	name   string      // the name in parent that leads to the directory
}

// pathWatchForKind returns the watch for the configured path. That is last, or a new watch if last is nil. If
// the path turned out to be a single file after last was created, it closes last and creates a watch of the
// file's directory, because the file may be replaced. It returns nil for an fs.FS, which cannot be watched.
func (s *Source) pathWatchForKind(last *pathWatch) *pathWatch {
	switch {
	case s.cfg.FS != nil:
		return nil
	case last == nil && s.kind != singleFilePath:
		return &pathWatch{dir: s.cfg.Path, newWatcher: s.newDirWatcher}
	case s.kind == singleFilePath && (last == nil || last.fileName == ""):
		last.close()
		return &pathWatch{dir: filepath.Dir(s.cfg.Path), fileName: filepath.Base(s.cfg.Path), newWatcher: s.newDirWatcher}
	}
	return last
}

// ensureWatchAndReport makes sure that the directory at the path is watched, and resolves the fault of the
// watch. If that fails it reports a fault, unless the same one was reported, the directory is missing, or ctx
// is done. A nil w is ignored.
func (s *Source) ensureWatchAndReport(ctx context.Context, w *pathWatch) {
	if w == nil {
		return
	}
	switch err := s.ensureWatch(ctx, w); {
	case err == nil:
		s.faults.resolveIfActive(watchFault)
	case errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil: // The listing reports a missing path.
	default:
		s.faults.storeAndReportIfNew(watchFault, Problem{Path: w.dir, Err: fmt.Errorf("%w, changes are found by polling: %w", ErrNoWatch, err)}, nil)
	}
}

// ensureWatch watches the directory that is at the path now, unless it is already watched. The source calls it
// before each scan, so that a change after the scan causes an event. If the directory was not watched since
// the last scan, or the watch fails, the next scan reads all files.
func (s *Source) ensureWatch(ctx context.Context, w *pathWatch) error {
	r := s.rewatchWithLimit(ctx, w)
	w.state = r.state
	if !r.wasWatched {
		w.changed.addAll()
	}
	return r.err
}

// rewatchResult is the result of rewatchDirectory.
type rewatchResult struct {
	state      watchState
	wasWatched bool // the directory at the path was watched before, and is still watched
	err        error
}

// rewatchWithLimit calls rewatchDirectory for w, with the time limit of a read. It creates the watcher if there is none.
func (s *Source) rewatchWithLimit(ctx context.Context, w *pathWatch) rewatchResult {
	if w.watcher == nil {
		system, err := w.newWatcher()
		if err != nil {
			return rewatchResult{err: err}
		}
		w.watcher = system
	}
	system, dir, on := w.watcher, w.dir, w.state // The call may outlive this one.
	now, err := s.io.runWithLimitUnlessPending(ctx, "\x00watch", func() (any, error) { return system.rewatchDirectory(dir, on), nil })
	if err != nil {
		return rewatchResult{state: watchState{parent: on.parent, name: on.name}, err: err} // The directory above is still watched.
	}
	return now.(rewatchResult)
}

// rewatchDirectory watches dir, unless that directory is already watched, and returns the new state. If dir is
// missing or a link, it also watches the nearest existing directory above, so that the creation of dir causes
// an event. It stops watching every other directory.
func (a *dirWatcher) rewatchDirectory(dir string, state watchState) rewatchResult {
	link, err := os.Lstat(dir)
	var above, name string
	if err != nil || link.Mode()&fs.ModeSymlink != 0 {
		above, name = nearestExistingParent(dir)
	}
	watched := a.watched()
	for _, other := range watched {
		if other != dir && other != above {
			_ = a.remove(other) // It may no longer exist.
		}
	}
	if above != "" && !slices.Contains(watched, above) && a.add(above) != nil {
		above = "" // The poll finds changes there.
	}
	now := watchState{parent: above, name: name}
	info, err := os.Stat(dir)
	if err != nil {
		return rewatchResult{state: now, err: err}
	}
	now.dir = info
	if state.dir != nil && os.SameFile(info, state.dir) && slices.Contains(watched, dir) {
		return rewatchResult{state: now, wasWatched: true}
	}
	_ = a.remove(dir) // It may watch a directory that was moved away.
	if err = a.add(dir); err != nil {
		now.dir = nil
	}
	return rewatchResult{state: now, err: err}
}

// nearestExistingParent returns the closest existing directory above a path, and the name in it that leads to
// the path. It returns empty strings if there is none.
func nearestExistingParent(path string) (parent, name string) {
	for {
		parent, name = filepath.Dir(path), filepath.Base(path)
		if parent == path {
			return "", ""
		}
		if info, err := os.Stat(parent); err == nil && info.IsDir() {
			return parent, name
		}
		path = parent
	}
}

// events returns the channel of file events. If nothing is watched it returns nil, a channel that never becomes
// ready.
func (w *pathWatch) events() <-chan fsnotify.Event {
	if w == nil || w.watcher == nil {
		return nil
	}
	return w.watcher.events
}

// errors returns the channel on which the watch sends its errors, for example that the operating system has
// dropped events. If nothing is watched, it returns nil, a channel that never becomes ready.
func (w *pathWatch) errors() <-chan error {
	if w == nil || w.watcher == nil {
		return nil
	}
	return w.watcher.errors
}

// addEventIfRelevant reports whether an event can concern a manifest, and adds what it may have changed to w.changed. If
// the event is about the watched directory itself or about the way to it, it also clears w.state.dir, so that the
// directory is watched again.
func (w *pathWatch) addEventIfRelevant(e fsnotify.Event) bool {
	switch w.classifyEvent(e) {
	case noManifest:
		return false
	case oneFile:
		w.changed.addName(filepath.Base(e.Name))
		return true
	case watchedDirectory:
		w.state.dir = nil // Check what the path is now.
	case allFiles:
	}
	w.changed.addAll()
	return true
}

// addMissedEvents adds all files to w.changed, and returns an event that stands for lost ones. The source calls it after
// an error of the watch.
func (w *pathWatch) addMissedEvents() fsnotify.Event {
	w.changed.addAll()
	return missedEvents
}

// takeChanges returns the files that may have changed since the last call, and forgets them. Without a watch, that is
// if w is nil, these are all files.
func (w *pathWatch) takeChanges() changedFiles {
	if w == nil {
		return changedFiles{all: true}
	}
	taken := w.changed
	w.changed = changedFiles{}
	return taken
}

// close closes the watcher, if any. w may be nil.
func (w *pathWatch) close() {
	if w != nil && w.watcher != nil {
		_ = w.watcher.close() // An error would have no effect.
	}
}
