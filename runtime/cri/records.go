package cri

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
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

// cachedRecord is a cached sandbox or container of this owner.
type cachedRecord struct {
	uid     types.UID
	sandbox string                 // of a container; empty for a sandbox
	attempt uint32                 // of a sandbox
	handler string                 // of a sandbox
	paths   convert.SandboxContext // of a sandbox
	removed bool                   // this agent has removed it; kept for late events
	missing bool                   // the last list did not contain it
}

// recordCache caches the records of this owner by ID. A call for an ID that is neither cached nor
// listed with this owner is rejected (I38). A record that two consecutive lists do not contain is
// deleted, so that the cache is not larger than the runtime's lists.
type recordCache struct {
	mu    sync.Mutex
	known map[string]cachedRecord
}

func (k *recordCache) add(id string, r cachedRecord) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[id] = r
}

// getUnlessRemoved returns the cached entry of a sandbox or container. It returns false if there is none or the
// sandbox or container was removed.
func (k *recordCache) getUnlessRemoved(id string) (cachedRecord, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.known[id]
	return r, ok && !r.removed
}

// podUID returns the pod UID of a cached sandbox or container, even of a removed one. It returns "" if the ID
// is not cached.
func (k *recordCache) podUID(id string) types.UID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[id].uid
}

// markRemovedWithContainers records in the cache that a sandbox or container was removed; the containers of a
// removed sandbox count as removed too. An empty ID is ignored, because it would match every cached sandbox.
func (k *recordCache) markRemovedWithContainers(id string) {
	if id == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, r := range k.known {
		if other == id || r.sandbox == id {
			r.removed = true
			k.known[other] = r
		}
	}
}

// updateFromListAndDropMissing adds the sandboxes and containers of a complete list to the cache, unless they
// are cached. It deletes a cached entry when two lists in a row do not contain it.
func (k *recordCache) updateFromListAndDropMissing(l *ownedRecords) {
	k.mu.Lock()
	defer k.mu.Unlock()
	seen := make(map[string]bool, len(l.sandboxes)+len(l.containers))
	for _, s := range l.sandboxes {
		seen[s.GetId()] = true
		k.addOrMarkListedLocked(s.GetId(), func() cachedRecord { return sandboxRecord(s) })
	}
	for _, c := range l.containers {
		seen[c.GetId()] = true
		k.addOrMarkListedLocked(c.GetId(), func() cachedRecord { return containerRecord(c) })
	}
	for id, r := range k.known {
		switch {
		case seen[id]:
		case r.missing:
			delete(k.known, id)
		default:
			r.missing = true
			k.known[id] = r
		}
	}
}

// addOrMarkListedLocked adds a listed sandbox or container to the cache if it is not cached, and records that
// the last list contained it. An entry that was marked as removed stays marked, because the list may be older
// than the removal.
func (k *recordCache) addOrMarkListedLocked(id string, newRecord func() cachedRecord) {
	r, ok := k.known[id]
	if !ok {
		r = newRecord()
	}
	r.missing = false
	k.known[id] = r
}

func sandboxRecord(s *cri.PodSandbox) cachedRecord {
	return cachedRecord{
		uid: types.UID(s.GetMetadata().GetUid()), attempt: s.GetMetadata().GetAttempt(),
		handler: s.GetRuntimeHandler(), paths: convert.SandboxContextFromAnnotations(s.GetAnnotations()),
	}
}

func containerRecord(c *cri.Container) cachedRecord {
	return cachedRecord{uid: types.UID(c.GetLabels()[convert.LabelPodUID]), sandbox: c.GetPodSandboxId()}
}

// findSandboxOfOwner returns the cache entry of a sandbox. If the sandbox is not cached, it asks the runtime
// and caches the answer. It returns ErrNotFound if the sandbox is unknown, and ErrForeign if the sandbox
// belongs to another owner.
func (r *Runtime) findSandboxOfOwner(ctx context.Context, id string) (cachedRecord, error) {
	if known, ok := r.records.getUnlessRemoved(id); ok && known.sandbox == "" {
		return known, nil
	}
	list, err := callRead(ctx, r, "ListPodSandbox", r.runtime.ListPodSandbox, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{Id: id}})
	if err != nil {
		return cachedRecord{}, err
	}
	return findOwnedInListAndCache(r, "sandbox", id, list.GetItems(), sandboxRecord)
}

// findContainerOfOwner returns the cache entry of a container. If the container is not cached, it asks the
// runtime and caches the answer. It returns ErrNotFound if the container is unknown, and ErrForeign if the
// container belongs to another owner.
func (r *Runtime) findContainerOfOwner(ctx context.Context, id string) (cachedRecord, error) {
	if known, ok := r.records.getUnlessRemoved(id); ok && known.sandbox != "" {
		return known, nil
	}
	list, err := callRead(ctx, r, "ListContainers", r.runtime.ListContainers, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{Id: id}})
	if err != nil {
		return cachedRecord{}, err
	}
	return findOwnedInListAndCache(r, "container", id, list.GetContainers(), containerRecord)
}

// listItem is a sandbox or container in a list.
type listItem interface {
	GetId() string
	GetLabels() map[string]string
}

// findOwnedInListAndCache finds the sandbox or container with an ID in a filtered list, caches it and returns
// its cache entry. It returns ErrNotFound if it is not listed, and ErrForeign if it belongs to another owner.
// It compares the ID because a runtime may also match a prefix.
func findOwnedInListAndCache[T listItem](r *Runtime, kind, id string, list []T, newRecord func(T) cachedRecord) (cachedRecord, error) {
	i := slices.IndexFunc(list, func(e T) bool { return e.GetId() == id && id != "" })
	switch {
	case i < 0:
		return cachedRecord{}, fmt.Errorf("cri: %w: %s %s", runtime.ErrNotFound, kind, id)
	case list[i].GetLabels()[convert.LabelOwner] != r.cfg.Owner:
		return cachedRecord{}, fmt.Errorf("%w: %s %s", ErrForeign, kind, id)
	}
	found := newRecord(list[i])
	r.records.add(id, found)
	return found, nil
}

// createsInProgress is the set of names that this process is creating. A runtime need not list a
// record before its creation is complete.
type createsInProgress struct {
	mu    sync.Mutex
	names map[string]bool
}

// addUnlessInProgress records that a create call for name is in progress. It returns false, and changes
// nothing, if one is in progress already.
func (m *createsInProgress) addUnlessInProgress(name string) (added bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names[name] {
		return false
	}
	m.names[name] = true
	return true
}

func (m *createsInProgress) finish(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.names, name)
}

// ownerFileName is the name of the owner file.
const ownerFileName = "owner"

// OwnerFile returns the owner that is stored in a directory. It creates a random one if there is
// none. Only the agent may have write access to the directory. If the file is lost, the pods of the
// node belong to no owner any longer and are never stopped. Concurrent callers get the same owner.
//
// A new file is synced before it gets its name, and the directory is synced before OwnerFile returns. So a
// power failure loses no owner that was returned, and leaves no part of a file. This includes a file that an
// interrupted call has created. Later calls write nothing and sync the directory again.
func OwnerFile(dir string) (string, error) {
	if err := createOwnerFileUnlessExists(dir, rand.Text()); err != nil {
		return "", fmt.Errorf("cri: %w", err)
	}
	return readOwnerFile(filepath.Join(dir, ownerFileName))
}

func readOwnerFile(path string) (string, error) {
	f, err := osfile.OpenPath(path) // It rejects a FIFO, which would block.
	if err != nil {
		return "", fmt.Errorf("cri: %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, 2*maxOwnerBytes))
	if err != nil {
		return "", fmt.Errorf("cri: %w", err)
	}
	owner, whole := strings.CutSuffix(string(text), "\n")
	if owner = strings.TrimSpace(owner); !whole && isValidOwner(owner) {
		// A truncated owner would be a different owner without any of the running pods.
		return "", fmt.Errorf("cri: %s is truncated, or lacks the line break at its end: %q", path, owner)
	}
	if !isValidOwner(owner) {
		return "", fmt.Errorf("cri: %s is not a valid owner file: %q", path, owner)
	}
	return owner, nil
}

// createOwnerFileUnlessExists writes the owner to a new file in a directory, and syncs the directory. If the file
// exists, it keeps that file and syncs the directory all the same.
func createOwnerFileUnlessExists(dir, owner string) error {
	root, err := osfile.OpenDir(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return osfile.EnsureFile(root, ownerFileName, "."+ownerFileName+"-"+rand.Text(), []byte(owner+"\n"))
}
