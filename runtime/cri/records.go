package cri

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// record is what is remembered of a sandbox or container that is ours.
type record struct {
	uid     types.UID
	sandbox string        // of a container; empty: it is a sandbox
	attempt uint32        // of a sandbox
	handler string        // of a sandbox
	place   convert.Place // of a sandbox
	gone    bool          // we have removed it; kept for events that come late
	missed  bool          // the last list did not show it
}

// records are the IDs that are known to be ours. Nothing is done to an ID that
// is not (I38). They are bounded by what the runtime has: a list that does not
// show one twice in a row drops it.
type records struct {
	mu    sync.Mutex
	known map[string]record
}

func (k *records) add(id string, r record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[id] = r
}

// get finds what is known of a record that exists, as far as we know.
func (k *records) get(id string) (record, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.known[id]
	return r, ok && !r.gone
}

// owner is the pod of an ID that is or was ours.
func (k *records) owner(id string) types.UID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[id].uid
}

// remove forgets an ID, and the containers of a sandbox with it. The empty ID is
// nobody's, not that of the sandbox of all sandboxes.
func (k *records) remove(id string) {
	if id == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, r := range k.known {
		if other == id || r.sandbox == id {
			r.gone = true
			k.known[other] = r
		}
	}
}

// listed brings the records in line with a whole list.
func (k *records) listed(l *lists) {
	k.mu.Lock()
	defer k.mu.Unlock()
	seen := make(map[string]bool, len(l.sandboxes)+len(l.containers))
	for _, s := range l.sandboxes {
		seen[s.GetId()] = true
		k.showLocked(s.GetId(), func() record { return sandboxRecord(s) })
	}
	for _, c := range l.containers {
		seen[c.GetId()] = true
		k.showLocked(c.GetId(), func() record { return containerRecord(c) })
	}
	for id, r := range k.known {
		switch {
		case seen[id]:
		case r.missed:
			delete(k.known, id)
		default:
			r.missed = true
			k.known[id] = r
		}
	}
}

// showLocked takes up what is new. What we have removed stays so: the list may
// be from before.
func (k *records) showLocked(id string, made func() record) {
	r, ok := k.known[id]
	if !ok {
		r = made()
	}
	r.missed = false
	k.known[id] = r
}

func sandboxRecord(s *cri.PodSandbox) record {
	return record{
		uid: types.UID(s.GetMetadata().GetUid()), attempt: s.GetMetadata().GetAttempt(),
		handler: s.GetRuntimeHandler(), place: convert.PlaceOf(s.GetAnnotations()),
	}
}

func containerRecord(c *cri.Container) record {
	return record{uid: types.UID(c.GetLabels()[convert.LabelPodUID]), sandbox: c.GetPodSandboxId()}
}

// sandbox finds a sandbox of ours, which is asked for if it is not known.
func (r *Runtime) sandbox(ctx context.Context, id string) (record, error) {
	if known, ok := r.records.get(id); ok && known.sandbox == "" {
		return known, nil
	}
	list, err := read(ctx, r, "ListPodSandbox", r.runtime.ListPodSandbox, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{Id: id}})
	if err != nil {
		return record{}, err
	}
	return find(r, "sandbox", id, list.GetItems(), sandboxRecord)
}

// container finds a container of ours, which is asked for if it is not known.
func (r *Runtime) container(ctx context.Context, id string) (record, error) {
	if known, ok := r.records.get(id); ok && known.sandbox != "" {
		return known, nil
	}
	list, err := read(ctx, r, "ListContainers", r.runtime.ListContainers, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{Id: id}})
	if err != nil {
		return record{}, err
	}
	return find(r, "container", id, list.GetContainers(), containerRecord)
}

// item is a sandbox or container in a list.
type item interface {
	GetId() string
	GetLabels() map[string]string
}

// find takes up the record of an ID from the list that was filtered by it. A runtime may
// take a part of an ID for it.
func find[T item](r *Runtime, kind, id string, list []T, made func(T) record) (record, error) {
	i := slices.IndexFunc(list, func(e T) bool { return e.GetId() == id && id != "" })
	switch {
	case i < 0:
		return record{}, fmt.Errorf("cri: %w: %s %s", runtime.ErrNotFound, kind, id)
	case list[i].GetLabels()[convert.LabelOwner] != r.cfg.Owner:
		return record{}, fmt.Errorf("%w: %s %s", ErrForeign, kind, id)
	}
	found := made(list[i])
	r.records.add(id, found)
	return found, nil
}

// making are the names of what is being made by us, as a runtime need not show
// what it is only about to make.
type making struct {
	mu    sync.Mutex
	names map[string]bool
}

// begin reports whether nobody else makes the same.
func (m *making) begin(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names[name] {
		return false
	}
	m.names[name] = true
	return true
}

func (m *making) end(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.names, name)
}

// ownerName is the file's.
const ownerName = "owner"

// OwnerFile returns the owner kept in a directory, in which only the agent may write,
// and makes one up if there is none. Losing this file orphans the node's pods. Two
// programs that ask at once get the same.
func OwnerFile(dir string) (string, error) {
	path := filepath.Join(dir, ownerName)
	owner, err := readOwner(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return owner, err
	}
	if err := writeOwner(dir, path, rand.Text()); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("cri: %w", err)
	}
	return readOwner(path)
}

func readOwner(path string) (string, error) {
	f, err := osfile.OpenPath(path) // A FIFO in its place would be waited for until somebody writes to it.
	if err != nil {
		return "", fmt.Errorf("cri: %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, 2*longestOwner))
	if err != nil {
		return "", fmt.Errorf("cri: %w", err)
	}
	owner, whole := strings.CutSuffix(string(text), "\n")
	if owner = strings.TrimSpace(owner); !whole && validOwner(owner) {
		// Half of it would be another owner, who has none of the pods that run.
		return "", fmt.Errorf("cri: %s is cut short, or was written by hand without a new line at its end: %q", path, owner)
	}
	if !validOwner(owner) {
		return "", fmt.Errorf("cri: %s is not the file of an owner: %q", path, owner)
	}
	return owner, nil
}

// writeOwner puts a whole file in place, or finds that there is one already:
// a link, unlike a rename, replaces nothing.
func writeOwner(dir, path, owner string) error {
	f, err := os.CreateTemp(dir, "."+ownerName+"-*") // of mode 0600, and new
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(owner + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	_ = d.Sync() // Not every system can; without it a power cut may lose the file.
	return nil
}
