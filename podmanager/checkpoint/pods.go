package checkpoint

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Pods stores on disk the pods that a program was given and that are stored nowhere else, so that
// the next agent runs them too. Its methods may be called concurrently.
type Pods struct {
	files fileStore[storedPod]
	mu    struct {
		sync.Mutex
		undropped map[types.UID]bool // Drop has failed
	}
}

// storedPod is the content of a file: one pod.
type storedPod struct {
	header
	Pod *v1.Pod `json:"pod"`
}

// NewPods returns Pods and reads the files that an earlier agent has left. It needs another
// directory than the terminal statuses and the containers. A damaged file is reported at each start
// and stays in place. As long as it is there, ReadError returns an error.
func NewPods(cfg Config) (*Pods, error) {
	p := &Pods{}
	err := p.files.createDirAndReadFiles(cfg, fileFormat[storedPod]{
		decode:  decodeStoredPod,
		badRoot: "cannot read all pods of an earlier agent; the missing ones do not run",
		badFile: "cannot read a file with a pod; the pod does not run",
		// As long as the file is there, ReadError keeps the node from removing the pod's volumes.
		keepDamaged: true,
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Load returns the pods that an earlier agent has stored, once, in the order of their creation.
func (p *Pods) Load() (pods []*v1.Pod) {
	for _, uid := range p.files.storedUIDs(alwaysTrue, MaxFiles) {
		if d := p.files.takeReadValue(uid); d != nil {
			pods = append(pods, d.Pod)
		}
	}
	slices.SortStableFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	return pods
}

// ReadError returns an error if a file of an earlier agent could not be read. Then there were pods
// that Load does not return. If there are several errors it returns one of them.
func (p *Pods) ReadError() error { return p.files.readError }

// Save stores a pod. It replaces the file of the UID. It returns when the file is complete on disk. After a nil error the
// pod counts as stored also if an earlier Drop of the UID has failed. A pod of more than MaxSize bytes is an error.
func (p *Pods) Save(pod *v1.Pod) error {
	text, err := json.Marshal(&storedPod{header: newHeader(pod), Pod: pod})
	if err == nil && len(text) > MaxSize {
		err = tooLargeError()
	}
	if err == nil {
		err = p.files.writeFile(pod.UID, text)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.undropped, pod.UID)
	return nil
}

// UIDForName returns the UID of the stored pod with a name, or a new UID if none is stored. An empty namespace is
// "default". A program whose pods have names and no UIDs saves and applies each pod under this UID. So an update of a pod
// has the UID of the pod. A pod that is applied after Drop has another UID, and is another pod for each later agent: it
// gets no terminal status and no container of the dropped pod.
//
// UIDForName finds a pod that was stored under a UID of UIDForName or of node.UIDFromName, also if its file is damaged.
// If an earlier Drop of the name has failed, UIDForName drops the pod again. Its error then means that the name cannot
// get a new UID, because a later agent would find two pods with the name.
//
// UIDForName and the Save after it must not run concurrently for one name: two calls before a Save return different UIDs.
func (p *Pods) UIDForName(namespace, name string) (types.UID, error) {
	prefix := podspec.UIDFromName(namespace, name)
	for _, uid := range p.undroppedUIDs() {
		if hasUIDPrefix(uid, prefix) {
			if err := p.Drop(uid); err != nil {
				return "", err
			}
		}
	}
	for _, uid := range p.files.storedUIDs(func(uid types.UID) bool { return hasUIDPrefix(uid, prefix) }, 1) {
		return uid, nil
	}
	return prefix + "-" + types.UID(strings.ToLower(rand.Text()[:randomLength])), nil
}

// randomLength is the number of random characters in a new UID, each of 5 bits. It distinguishes the pods of one name.
const randomLength = 10

// hasUIDPrefix reports whether a UID is the prefix itself, or the prefix with a suffix of UIDForName.
func hasUIDPrefix(uid, prefix types.UID) bool {
	return uid == prefix || strings.HasPrefix(string(uid), string(prefix)+"-")
}

// Drop removes the file of a pod, if it exists. After a nil error the pod does not come back after a power failure.
func (p *Pods) Drop(uid types.UID) error {
	err := p.files.removeFileDurablyIf(uid, alwaysTrue)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		delete(p.mu.undropped, uid)
		return nil
	}
	if p.mu.undropped == nil {
		p.mu.undropped = make(map[types.UID]bool)
	}
	p.mu.undropped[uid] = true
	return err
}

// undroppedUIDs returns the UIDs of the pods whose last Drop has failed, sorted.
func (p *Pods) undroppedUIDs() []types.UID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.mu.undropped))
}

// decodeStoredPod parses the file of one stored pod. It returns an error if the file has another version, if
// its UID does not belong to the file name, or if its pod has another UID or no name.
func decodeStoredPod(name string, text []byte) (types.UID, *storedPod, error) {
	var d storedPod
	if err := json.Unmarshal(text, &d); err != nil {
		return "", nil, err
	}
	if err := d.checkForFileName(name); err != nil {
		return "", nil, err
	}
	if d.Pod == nil || d.Pod.UID != d.UID || d.Pod.Name == "" {
		return "", nil, fmt.Errorf("it has no pod with its UID")
	}
	return d.UID, &d, nil
}
