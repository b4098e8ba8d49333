package manifest

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/validation"
)

// Load reads a file as the source does: Decode, and the steps for static pods.
func Load(data []byte, node, path string, objects bool) ([]*v1.Pod, error) {
	l, err := loadPods(data, manifestOrigin{node: node, path: path, strict: true}, validation.Available{ConfigMaps: objects, Secrets: objects})
	return l.pods, err
}

// KeptAtOnce is how many good versions KeepSome saves.
const KeptAtOnce = saveBatch

// MaxHeld bounds the texts that wait to be saved; Held returns their size.
const MaxHeld = maxKeptBytes

func (s *Source) Held() int { return s.saving.keptBytes }

// KeepSome does what Run does between two scans.
func (s *Source) KeepSome(ctx context.Context) (more bool) { return s.saveNextBatchAndRemoveStale(ctx) }

// News replaces fsnotify in a test.
type News struct {
	Events chan fsnotify.Event
	Errors chan error
	Err    error // the system grants no watch
	Vague  bool  // the events do not name all changed files

	Hang    chan struct{} // if not nil, the first watch waits for it
	mu      sync.Mutex
	calls   []string
	watched []string
}

// Drop drops all watches without an event.
func (n *News) Drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watched = nil
}

// Calls lists "add" and "remove", with the directory.
func (n *News) Calls() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
}

// Watched returns the directories that the source watches.
func (n *News) Watched() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.watched)
}

// WatchWith makes the source use n instead of fsnotify.
func (s *Source) WatchWith(n *News) {
	s.newDirWatcher = func() (*dirWatcher, error) {
		if n.Err != nil {
			return nil, n.Err
		}
		call := func(what string) func(string) error {
			return func(dir string) error {
				n.mu.Lock()
				n.calls = append(n.calls, what+" "+dir)
				n.watched = slices.DeleteFunc(n.watched, func(other string) bool { return other == dir })
				hang := n.Hang
				if what == "add" {
					n.watched, n.Hang = append(n.watched, dir), nil
				}
				n.mu.Unlock()
				if what == "add" && hang != nil {
					<-hang
				}
				return nil
			}
		}
		return &dirWatcher{
			add: call("add"), remove: call("remove"), close: func() error { return nil }, events: n.Events, errors: n.Errors, namesFiles: !n.Vague,
			watched: n.Watched,
		}, nil
	}
}

// KeepAs saves the text of a file in a state directory, as an earlier process did.
func KeepAs(state, path, text string) error {
	return fileVersionStore(state, path).saveAtomicallyIfDirSet("", []byte(text), true)
}

// ErrEditorsName is the fault of a file that is read although its name is ignored.
var ErrEditorsName = errEditorFileName

// UIDsOf returns the name and the UID of each pod of a manifest, by the current or the former rule of UIDs.
func UIDsOf(data []byte, node, path string, url, former bool) (lines []string, err error) {
	l, err := loadPods(data, manifestOrigin{node: node, path: path, isURL: url, legacyUIDs: former}, validation.Available{})
	for _, p := range l.pods {
		lines = append(lines, p.Namespace+"/"+p.Name+" "+string(p.UID))
	}
	return lines, err
}

// ScanChanged is Scan after events that name these files.
func (s *Source) ScanChanged(ctx context.Context, names ...string) (source.Snapshot, error) {
	var changed changedFiles
	for _, name := range names {
		changed.addName(name)
	}
	return s.scanChangedFiles(ctx, changed)
}

// EventScanner scans the files of a source as Run does, with the events of its watch.
type EventScanner struct {
	s *Source
	w *pathWatch
}

// NewEventScanner watches the directory of s, and scans all its files.
func (s *Source) NewEventScanner(ctx context.Context) (*EventScanner, source.Snapshot, error) {
	e := &EventScanner{s: s, w: s.pathWatchForKind(nil)}
	if err := s.ensureWatch(ctx, e.w); err != nil {
		return nil, source.Snapshot{}, err
	}
	snapshot, err := s.scanChangedOrAllFiles(ctx, e.w)
	return e, snapshot, err
}

// ScanAfter takes all events until one of the file last, and scans the files that they name. all means that it has
// scanned all files.
func (e *EventScanner) ScanAfter(ctx context.Context, last string) (snapshot source.Snapshot, all bool, err error) {
	for name := ""; name != last; {
		select {
		case <-ctx.Done():
			return snapshot, false, ctx.Err()
		case event := <-e.w.events():
			_ = e.w.addEventIfRelevant(event)
			name = filepath.Base(event.Name)
		case err := <-e.w.errors():
			return snapshot, false, err
		}
	}
	if err := e.s.ensureWatch(ctx, e.w); err != nil {
		return snapshot, false, err
	}
	all = e.w.changed.all
	snapshot, err = e.s.scanChangedOrAllFiles(ctx, e.w)
	return snapshot, all, err
}

// Close stops the watch.
func (e *EventScanner) Close() { e.w.close() }

// ChangedBy returns what an event may have changed: a name, "all", or nothing. The watch is for the directory dir, or one
// file in it, and watches the name in the parent above.
func ChangedBy(event fsnotify.Event, dir, fileName, parent, nameInParent string, namesFiles bool) string {
	w := &pathWatch{
		dir: dir, fileName: fileName, watcher: &dirWatcher{namesFiles: namesFiles}, state: watchState{parent: parent, name: nameInParent},
	}
	relevant := w.addEventIfRelevant(event)
	switch changed := w.takeChanges(); {
	case changed.all && relevant:
		return "all"
	case len(changed.names) == 1 && relevant:
		return slices.Collect(maps.Keys(changed.names))[0]
	case !relevant && !changed.all && len(changed.names) == 0:
		return ""
	}
	return "inconsistent"
}

// MaxChangedNames is how many changed files a scan reads before it reads all files.
const MaxChangedNames = maxChangedNames

// HideLinks makes the source treat the paths of its fs.FS as regular files, and not as links.
func (s *Source) HideLinks() { s.tree = plainTree{s.tree} }

// plainTree is a fileTree without links.
type plainTree struct{ fileTree }

func (p plainTree) readFile(file string, limit int64) (fileContent, error) {
	content, err := p.fileTree.readFile(file, limit)
	content.isLink = false
	return content, err
}
