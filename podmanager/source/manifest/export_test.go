package manifest

import (
	"context"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/validation"
)

// Load is how the source reads a file: Decode, and then some.
func Load(data []byte, node, path string, objects bool) ([]*v1.Pod, error) {
	l, err := loadPods(data, manifestOrigin{node: node, path: path, strict: true}, validation.Available{ConfigMaps: objects, Secrets: objects})
	return l.pods, err
}

// KeptAtOnce is how many good versions KeepSome keeps.
const KeptAtOnce = saveBatch

// MaxHeld bounds the texts that are held until they are kept; Held is how much is held.
const MaxHeld = maxHeldBytes

func (s *Source) Held() int { return s.saving.heldBytes }

// KeepSome is what Run does between two scans.
func (s *Source) KeepSome(ctx context.Context) (more bool) { return s.saveNextVersions(ctx) }

// News is what a test puts in the place of the system's watch.
type News struct {
	Events chan fsnotify.Event
	Errors chan error
	Err    error // the system grants no watch

	mu    sync.Mutex
	calls []string
}

// Calls are "add" and "remove", with the directory.
func (n *News) Calls() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
}

// WatchWith makes the source get its news from n.
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

// KeepAs keeps the text of a file in a state directory, as an earlier process did.
func KeepAs(state, path, text string) error {
	return fileVersionStore(state, path).save("", []byte(text), true)
}

// ErrEditorsName is the fault of a file that is read although its name is ignored.
var ErrEditorsName = errEditorFileName

// UIDsOf returns the name and the UID of each pod of a manifest, by the rule of UIDs of new files or by
// the former one.
func UIDsOf(data []byte, node, path string, url, former bool) (lines []string, err error) {
	l, err := loadPods(data, manifestOrigin{node: node, path: path, isURL: url, legacyUIDs: former}, validation.Available{})
	for _, p := range l.pods {
		lines = append(lines, p.Namespace+"/"+p.Name+" "+string(p.UID))
	}
	return lines, err
}
