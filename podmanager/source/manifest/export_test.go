package manifest

import (
	"context"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
	v1 "k8s.io/api/core/v1"

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

	mu    sync.Mutex
	calls []string
}

// Calls lists "add" and "remove", with the directory.
func (n *News) Calls() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
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
				defer n.mu.Unlock()
				n.calls = append(n.calls, what+" "+dir)
				return nil
			}
		}
		return &dirWatcher{
			add: call("add"), remove: call("remove"), close: func() error { return nil }, events: n.Events, errors: n.Errors,
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
