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

// Limits of the files.
const (
	// MaxSize is the largest size of a file in bytes, without its checksum.
	MaxSize = 256 << 10
	// MaxFiles is how many files are read at most.
	MaxFiles = 4096
)

// Config configures a Dir, a Containers, a Resources or a Pods. Root is required.
type Config struct {
	// Root is the directory of the files, an absolute path. It is created if needed. Two agents
	// must not share it.
	Root string
	// Log receives an error for each unreadable file; nil discards it.
	Log *slog.Logger
}

// Dir stores terminal statuses of pods on disk.
type Dir struct{ files fileStore[terminalStatus] }

var _ podsync.TerminalStatuses = (*Dir)(nil)

// New returns a Dir and reads the files that an earlier agent has left in it.
func New(cfg Config) (*Dir, error) {
	d := &Dir{}
	err := d.files.createDirAndReadFiles(cfg, fileFormat[terminalStatus]{
		decode:  decodeTerminalStatus,
		badRoot: "cannot read all terminal statuses of an earlier agent; they are ignored",
		badFile: "cannot read a file with a terminal status; it is ignored",
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Consume returns the terminal status that an earlier agent has stored of a pod. It returns false
// if there is none, or if it was returned before.
func (d *Dir) Consume(pod *v1.Pod) (v1.PodStatus, bool) {
	e := d.files.takeReadValue(pod.UID)
	if e == nil || !e.belongsTo(pod) {
		return v1.PodStatus{}, false
	}
	return e.Status, true
}

// Save implements podsync.TerminalStatuses.
func (d *Dir) Save(pod *v1.Pod, status *v1.PodStatus) error {
	text, err := encodeTerminalStatus(pod, status)
	if err == nil {
		err = d.files.writeFile(pod.UID, text)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Drop implements podsync.TerminalStatuses. After a nil error the status does not come back after a
// power failure.
func (d *Dir) Drop(uid types.UID) error { return d.files.removeFileDurablyIf(uid, alwaysTrue) }

// Remove is Drop for a pod that is not known to be desired. gone is called while no Save of the UID
// is running, and must not block. If it returns false the file stays, which is not an error.
func (d *Dir) Remove(_ context.Context, uid types.UID, gone func(types.UID) bool) error {
	return d.files.removeFileDurablyIf(uid, gone)
}

// Pods returns the sorted UIDs of the pods with a stored status for which filter returns true, at
// most limit of them.
func (d *Dir) Pods(filter func(types.UID) bool, limit int) ([]types.UID, error) {
	return d.files.storedUIDs(filter, limit), nil
}

// Containers stores on disk what a later agent must know about containers that keep running when
// this agent exits. Its methods may be called concurrently.
type Containers struct{ files fileStore[containerStates] }

var _ podsync.ContainerStates = (*Containers)(nil)

// containerStates is the content of a file: the states of the containers of one pod.
type containerStates struct {
	header
	Containers []podsync.ContainerState `json:"containers"`
}

// NewContainers returns a Containers and reads the files that an earlier agent has left in it. It
// needs another directory than the terminal statuses.
func NewContainers(cfg Config) (*Containers, error) {
	c := &Containers{}
	err := c.files.createDirAndReadFiles(cfg, fileFormat[containerStates]{
		decode:  decodeContainerStates,
		badRoot: "cannot read all container states of an earlier agent; they are ignored",
		badFile: "cannot read a file with container states; it is ignored",
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ConsumeContainers implements podsync.ContainerStates. It returns the stored states once, to the
// pod with the same UID, name and hash.
func (c *Containers) ConsumeContainers(pod *v1.Pod) []podsync.ContainerState {
	r := c.files.takeReadValue(pod.UID)
	if r == nil || !r.belongsTo(pod) {
		return nil
	}
	return r.Containers
}

// SaveContainers implements podsync.ContainerStates. It returns when the file is complete on disk.
func (c *Containers) SaveContainers(pod *v1.Pod, states []podsync.ContainerState) error {
	text, err := json.Marshal(&containerStates{header: newHeader(pod), Containers: states})
	if err == nil && len(text) > MaxSize {
		err = tooLargeError()
	}
	if err == nil {
		err = c.files.writeFile(pod.UID, text)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// DropContainers implements podsync.ContainerStates.
func (c *Containers) DropContainers(uid types.UID) error {
	return c.files.removeFileIf(uid, alwaysTrue)
}

// Remove is DropContainers for a pod that is not known to be desired. gone is called while no save
// of the UID is running, and must not block. If it returns false the file stays, which is not an
// error.
func (c *Containers) Remove(_ context.Context, uid types.UID, gone func(types.UID) bool) error {
	return c.files.removeFileIf(uid, gone)
}

// Pods returns the sorted UIDs of the pods with stored states for which filter returns true, at
// most limit of them.
func (c *Containers) Pods(filter func(types.UID) bool, limit int) ([]types.UID, error) {
	return c.files.storedUIDs(filter, limit), nil
}

// decodeContainerStates parses the file with the container states of one pod. It returns an error if the file
// has another version, or if the UID in it does not belong to the file name.
func decodeContainerStates(name string, text []byte) (types.UID, *containerStates, error) {
	var r containerStates
	if err := json.Unmarshal(text, &r); err != nil {
		return "", nil, err
	}
	if err := r.checkForFileName(name); err != nil {
		return "", nil, err
	}
	return r.UID, &r, nil
}
