package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Containers has on the disk what has to be known of the containers that go on
// running when the agent ends. Methods may be called concurrently.
type Containers struct {
	root string
	// locks are held while the file of a pod is written, or removed.
	locks keylock.Locks[types.UID]
	mu    struct {
		sync.Mutex
		found map[types.UID]*running // by NewContainers, not taken yet
		kept  map[types.UID]bool     // there is a file
	}
}

var _ podsync.ContainerStates = (*Containers)(nil)

// running is what is known of the containers of one pod, as it is in its file.
type running struct {
	Version    int                      `json:"version"`
	Namespace  string                   `json:"namespace"`
	Name       string                   `json:"name"`
	UID        types.UID                `json:"uid"`
	Shape      string                   `json:"shape"`
	Containers []podsync.ContainerState `json:"containers"`
}

// NewContainers makes a Containers, and reads what an agent before this one has left
// in it. Its directory is another one than that of the endings.
func NewContainers(cfg Config) (*Containers, error) {
	if !filepath.IsAbs(cfg.Root) {
		return nil, fmt.Errorf("checkpoint: Config.Root is no absolute path: %q", cfg.Root)
	}
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if err := os.MkdirAll(cfg.Root, 0o700); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	c := &Containers{root: cfg.Root}
	c.mu.found, c.mu.kept = make(map[types.UID]*running), make(map[types.UID]bool)
	root, err := osfile.OpenDir(c.root)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	defer func() { _ = root.Close() }()
	names, err := list(root)
	if err != nil {
		log.Error("some of what an agent before this one has kept of containers cannot be read and does not count", "dir", c.root, "err", err)
	}
	for _, name := range names {
		r, err := readRunning(root, name)
		if err != nil {
			log.Error("a file that should tell how containers were cannot be read and does not count", "file", filepath.Join(c.root, name), "err", err)
			continue
		}
		c.mu.found[r.UID], c.mu.kept[r.UID] = r, true
	}
	return c, nil
}

// TakeContainers implements podsync.ContainerStates: what was kept is handed out
// once, to the pod that has the UID, the name and the shape.
func (c *Containers) TakeContainers(pod *v1.Pod) []podsync.ContainerState {
	c.mu.Lock()
	r := c.mu.found[pod.UID]
	delete(c.mu.found, pod.UID)
	c.mu.Unlock()
	if r == nil || r.Namespace != pod.Namespace || r.Name != pod.Name || !podsync.HasShape(pod, r.Shape) {
		return nil
	}
	return r.Containers
}

// SaveContainers implements podsync.ContainerStates. It is over when the file is on
// the disk, whole and in its place.
func (c *Containers) SaveContainers(pod *v1.Pod, states []podsync.ContainerState) error {
	name, err := fileName(pod.UID)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	text, err := json.Marshal(&running{
		Version: version, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Shape: podsync.Shape(pod), Containers: states,
	})
	if err == nil && len(text) > MaxSize {
		err = tooLarge()
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer c.locks.Lock(pod.UID)()
	c.note(pod.UID, true)
	root, err := osfile.OpenDir(c.root)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer func() { _ = root.Close() }()
	if err := write(root, name, text); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// DropContainers implements podsync.ContainerStates.
func (c *Containers) DropContainers(uid types.UID) error {
	defer c.locks.Lock(uid)()
	return c.drop(uid)
}

// Remove is DropContainers for a pod that nobody is known to want. gone is asked while
// nothing of the UID is being saved, and must not block; false keeps what there is,
// which is no error.
func (c *Containers) Remove(_ context.Context, uid types.UID, gone func(types.UID) bool) error {
	defer c.locks.Lock(uid)()
	if !gone(uid) {
		return nil
	}
	return c.drop(uid)
}

// drop removes the file of a pod, if there is one. The caller has the lock of the UID.
func (c *Containers) drop(uid types.UID) error {
	c.mu.Lock()
	kept := c.mu.kept[uid]
	c.mu.Unlock()
	name, err := fileName(uid)
	if err != nil || !kept {
		return nil
	}
	if err := os.Remove(filepath.Join(c.root, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	c.note(uid, false)
	return nil
}

// Pods lists pods of whose containers something is kept and for which of answers
// true, in order, at most limit of them.
func (c *Containers) Pods(of func(types.UID) bool, limit int) ([]types.UID, error) {
	c.mu.Lock()
	all := make([]types.UID, 0, len(c.mu.kept))
	for uid := range c.mu.kept {
		all = append(all, uid)
	}
	c.mu.Unlock()
	slices.Sort(all)
	var out []types.UID
	for _, uid := range all {
		if len(out) < limit && of(uid) {
			out = append(out, uid)
		}
	}
	return out, nil
}

// note says whether there is a file of a pod.
func (c *Containers) note(uid types.UID, kept bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.found, uid)
	if kept {
		c.mu.kept[uid] = true
		return
	}
	delete(c.mu.kept, uid)
}

// readRunning reads what is known of the containers of a pod, if that is a file.
func readRunning(root *os.Root, name string) (*running, error) {
	f, err := osfile.OpenFile(root, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > MaxSize:
		return nil, tooLarge()
	}
	return decodeRunning(name, text)
}

func decodeRunning(name string, text []byte) (*running, error) {
	var r running
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	own, err := fileName(r.UID)
	switch {
	case r.Version != version:
		return nil, fmt.Errorf("it is of version %d: expected %d", r.Version, version)
	case err != nil:
		return nil, err
	case own != name:
		return nil, fmt.Errorf("it is of the pod %s, which has another file", r.UID)
	}
	return &r, nil
}
