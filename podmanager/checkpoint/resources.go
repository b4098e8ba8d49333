package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// Resources stores on disk the allocated resources of pods. The next agent runs a pod with its allocated resources,
// and not with other resources that its source requests meanwhile. Its methods may be called concurrently.
type Resources struct{ files fileStore[storedResources] }

// storedResources is the content of a file: the allocated resources of one pod.
type storedResources struct {
	header
	Allocated *allocation.PodResources `json:"allocated"`
}

// NewResources returns a Resources and reads the files that an earlier agent has left in it. It needs another
// directory than the other stores. A damaged file is reported and renamed; its pod has no stored resources.
func NewResources(cfg Config) (*Resources, error) {
	r := &Resources{}
	err := r.files.createDirAndReadFiles(cfg, fileFormat[storedResources]{
		decode:  decodeStoredResources,
		badRoot: "cannot read all allocated resources of an earlier agent; they are ignored",
		badFile: "cannot read a file with allocated resources; it is ignored",
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ConsumeResources returns the allocated resources that an earlier agent has stored for a pod. It returns false
// if none are stored, if the file belongs to another pod with this UID, or if they were returned before.
func (r *Resources) ConsumeResources(pod *v1.Pod) (allocation.PodResources, bool) {
	stored := r.files.takeReadValue(pod.UID)
	if stored == nil || !stored.belongsTo(pod) {
		return allocation.PodResources{}, false
	}
	return *stored.Allocated, true
}

// SaveResources stores the allocated resources of a pod. It returns when the file is complete on disk.
func (r *Resources) SaveResources(pod *v1.Pod, allocated allocation.PodResources) error {
	text, err := json.Marshal(&storedResources{header: newHeader(pod), Allocated: &allocated})
	if err == nil && len(text) > MaxSize {
		err = tooLargeError()
	}
	if err == nil {
		err = r.files.writeFile(pod.UID, text)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// DropResources removes the file of a pod, if it exists.
func (r *Resources) DropResources(uid types.UID) error { return r.files.removeFileIf(uid, alwaysTrue) }

// Remove is DropResources for a pod that is not known to be desired. gone is called while no save of the UID is
// running, and must not block. If it returns false the file stays, which is not an error.
func (r *Resources) Remove(_ context.Context, uid types.UID, gone func(types.UID) bool) error {
	return r.files.removeFileIf(uid, gone)
}

// Pods returns the sorted UIDs of the pods with stored resources for which filter returns true, at most limit of
// them.
func (r *Resources) Pods(filter func(types.UID) bool, limit int) ([]types.UID, error) {
	return r.files.storedUIDs(filter, limit), nil
}

// decodeStoredResources parses the file of a Resources. It returns an error if its header does not fit the file
// name, or if it has no allocated resources.
func decodeStoredResources(name string, text []byte) (types.UID, *storedResources, error) {
	var r storedResources
	if err := json.Unmarshal(text, &r); err != nil {
		return "", nil, err
	}
	if err := r.checkForFileName(name); err != nil {
		return "", nil, err
	}
	if r.Allocated == nil || r.Allocated.Containers == nil {
		return "", nil, fmt.Errorf("it has no allocated resources")
	}
	return r.UID, &r, nil
}
