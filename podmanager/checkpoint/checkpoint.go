package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/keylock"
	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

// What is read and written at most.
const (
	// MaxSize is how many bytes an ending has.
	MaxSize = 256 << 10
	// MaxFiles is how many endings are read.
	MaxFiles = 4096
)

// Config is what a Dir is made of. Root is required.
type Config struct {
	// Root is the directory of the endings, an absolute path. It is made if need
	// be; no two agents may share it.
	Root string
	// Log is told of files that are no endings; nil discards that.
	Log *slog.Logger
}

// Dir has the endings of pods on the disk.
type Dir struct {
	root string
	// locks are held while the file of a pod is written, or removed.
	locks keylock.Locks[types.UID]
	mu    struct {
		sync.Mutex
		found map[types.UID]*ending // by New, not taken yet
		kept  map[types.UID]bool    // there is a file
	}
}

var _ podsync.Endings = (*Dir)(nil)

// New makes a Dir, and reads what an agent before this one has left in it.
func New(cfg Config) (*Dir, error) {
	if !filepath.IsAbs(cfg.Root) {
		return nil, fmt.Errorf("checkpoint: Config.Root is no absolute path: %q", cfg.Root)
	}
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if err := os.MkdirAll(cfg.Root, 0o700); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	d := &Dir{root: cfg.Root}
	d.mu.found, d.mu.kept = make(map[types.UID]*ending), make(map[types.UID]bool)
	root, err := osfile.OpenDir(d.root)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	defer func() { _ = root.Close() }()
	names, err := list(root)
	if err != nil {
		log.Error("some of what an agent before this one has kept of the ends of pods cannot be read and does not count", "dir", d.root, "err", err)
	}
	for _, name := range names {
		e, err := read(root, name)
		if err != nil {
			log.Error("a file that should tell how a pod has ended cannot be read and does not count", "file", filepath.Join(d.root, name), "err", err)
			continue
		}
		d.mu.found[e.UID], d.mu.kept[e.UID] = e, true
	}
	return d, nil
}

// Take returns how a pod had ended under an agent before this one, and false if it
// had not, or has been asked for before.
func (d *Dir) Take(pod *v1.Pod) (v1.PodStatus, bool) {
	d.mu.Lock()
	e := d.mu.found[pod.UID]
	delete(d.mu.found, pod.UID)
	d.mu.Unlock()
	if e == nil || e.Namespace != pod.Namespace || e.Name != pod.Name || !podsync.HasShape(pod, e.Shape) {
		return v1.PodStatus{}, false
	}
	return e.Status, true
}

// Save implements podsync.Endings.
func (d *Dir) Save(pod *v1.Pod, status *v1.PodStatus) error {
	name, err := fileName(pod.UID)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	text, err := encode(pod, status)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer d.locks.Lock(pod.UID)()
	d.note(pod.UID, true)
	root, err := osfile.OpenDir(d.root)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer func() { _ = root.Close() }()
	if err := write(root, name, text); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Drop implements podsync.Endings.
func (d *Dir) Drop(uid types.UID) error {
	defer d.locks.Lock(uid)()
	return d.drop(uid)
}

// Remove is Drop for a pod that nobody is known to want. gone is asked while no Save of
// the UID is under way, and must not block; false keeps the ending, which is no error.
func (d *Dir) Remove(_ context.Context, uid types.UID, gone func(types.UID) bool) error {
	defer d.locks.Lock(uid)()
	if !gone(uid) {
		return nil
	}
	return d.drop(uid)
}

// drop removes the file of a pod, if there is one. The caller has the lock of the UID.
func (d *Dir) drop(uid types.UID) error {
	d.mu.Lock()
	kept := d.mu.kept[uid]
	d.mu.Unlock()
	name, err := fileName(uid)
	if err != nil || !kept {
		return nil
	}
	if err := os.Remove(filepath.Join(d.root, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	d.note(uid, false)
	return nil
}

// note says whether there is a file of a pod. What New has found of it is of the
// past in any case.
func (d *Dir) note(uid types.UID, kept bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.mu.found, uid)
	if kept {
		d.mu.kept[uid] = true
		return
	}
	delete(d.mu.kept, uid)
}

// Pods lists pods whose ending is kept and for which of answers true, in order, at
// most limit of them.
func (d *Dir) Pods(of func(types.UID) bool, limit int) ([]types.UID, error) {
	d.mu.Lock()
	all := make([]types.UID, 0, len(d.mu.kept))
	for uid := range d.mu.kept {
		all = append(all, uid)
	}
	d.mu.Unlock()
	slices.Sort(all)
	var out []types.UID
	for _, uid := range all {
		if len(out) < limit && of(uid) {
			out = append(out, uid)
		}
	}
	return out, nil
}
