package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
)

// What is read and written at most.
const (
	// MaxSize is how many bytes an ending has.
	MaxSize = 256 << 10
	// MaxFiles is how many terminal statuses are read.
	MaxFiles = 4096
)

// Config is what a Dir is made of. Root is required.
type Config struct {
	// Root is the directory of the terminal statuses, an absolute path. It is made if need
	// be; no two agents may share it.
	Root string
	// Log reports files that are no terminal statuses; nil discards that.
	Log *slog.Logger
}

// Dir has the terminal statuses of pods on the disk.
type Dir struct{ files store[ending] }

var _ podsync.TerminalStatuses = (*Dir)(nil)

// New makes a Dir, and reads what an agent before this one has left in it.
func New(cfg Config) (*Dir, error) {
	d := &Dir{}
	err := d.files.open(cfg, contents[ending]{
		decode:  decode,
		badRoot: "some of what an agent before this one has kept of the ends of pods cannot be read and does not count",
		badFile: "a file that should tell how a pod has ended cannot be read and does not count",
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Consume returns how a pod had ended under an agent before this one, and false if it
// had not, or has been asked for before.
func (d *Dir) Consume(pod *v1.Pod) (v1.PodStatus, bool) {
	e := d.files.take(pod.UID)
	if e == nil || !e.isOf(pod) {
		return v1.PodStatus{}, false
	}
	return e.Status, true
}

// Save implements podsync.TerminalStatuses.
func (d *Dir) Save(pod *v1.Pod, status *v1.PodStatus) error {
	text, err := encode(pod, status)
	if err == nil {
		err = d.files.save(pod.UID, text)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Drop implements podsync.TerminalStatuses.
func (d *Dir) Drop(uid types.UID) error { return d.files.remove(uid, always) }

// Remove is Drop for a pod that is not known to be desired. gone is asked while no Save of
// the UID is under way, and must not block; false keeps the ending, which is no error.
func (d *Dir) Remove(_ context.Context, uid types.UID, gone func(types.UID) bool) error {
	return d.files.remove(uid, gone)
}

// Pods lists pods whose ending is kept and for which of answers true, in order, at
// most limit of them.
func (d *Dir) Pods(of func(types.UID) bool, limit int) ([]types.UID, error) {
	return d.files.pods(of, limit), nil
}

// Containers has on the disk what has to be known of the containers that go on
// running when the agent ends. Methods may be called concurrently.
type Containers struct{ files store[running] }

var _ podsync.ContainerStates = (*Containers)(nil)

// running is what is known of the containers of one pod, as it is in its file.
type running struct {
	header
	Containers []podsync.ContainerState `json:"containers"`
}

// NewContainers makes a Containers, and reads what an agent before this one has left
// in it. Its directory is another one than that of the terminal statuses.
func NewContainers(cfg Config) (*Containers, error) {
	c := &Containers{}
	err := c.files.open(cfg, contents[running]{
		decode:  decodeRunning,
		badRoot: "some of what an agent before this one has kept of containers cannot be read and does not count",
		badFile: "a file that should tell how containers were cannot be read and does not count",
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ConsumeContainers implements podsync.ContainerStates: what was kept is handed out
// once, to the pod that has the UID, the name and the hash.
func (c *Containers) ConsumeContainers(pod *v1.Pod) []podsync.ContainerState {
	r := c.files.take(pod.UID)
	if r == nil || !r.isOf(pod) {
		return nil
	}
	return r.Containers
}

// SaveContainers implements podsync.ContainerStates. It is over when the file is on
// the disk, whole and in its place.
func (c *Containers) SaveContainers(pod *v1.Pod, states []podsync.ContainerState) error {
	text, err := json.Marshal(&running{header: headerOf(pod), Containers: states})
	if err == nil && len(text) > MaxSize {
		err = tooLarge()
	}
	if err == nil {
		err = c.files.save(pod.UID, text)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// DropContainers implements podsync.ContainerStates.
func (c *Containers) DropContainers(uid types.UID) error { return c.files.remove(uid, always) }

// Remove is DropContainers for a pod that is not known to be desired. gone is asked while
// nothing of the UID is being saved, and must not block; false keeps what there is,
// which is no error.
func (c *Containers) Remove(_ context.Context, uid types.UID, gone func(types.UID) bool) error {
	return c.files.remove(uid, gone)
}

// Pods lists pods of whose containers something is kept and for which of answers
// true, in order, at most limit of them.
func (c *Containers) Pods(of func(types.UID) bool, limit int) ([]types.UID, error) {
	return c.files.pods(of, limit), nil
}

func decodeRunning(name string, text []byte) (types.UID, *running, error) {
	var r running
	if err := json.Unmarshal(text, &r); err != nil {
		return "", nil, err
	}
	if err := r.check(name); err != nil {
		return "", nil, err
	}
	return r.UID, &r, nil
}
