package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// What there is below the directory of a pod.
const (
	volumesDir    = "volumes"    // one for each volume
	stagingDir    = "staging"    // what is being made, before it takes its place
	subPathsDir   = "subpaths"   // by container and index: a part of a volume
	containersDir = "containers" // by container: its termination logs, by attempt
	hostsFile     = "etc-hosts"
)

// private is the mode of directories in which nobody but the agent has business.
const private fs.FileMode = 0o750

// Dir keeps the volumes and the files of pods below a directory.
type Dir struct{ cfg Config }

var (
	_ podsync.Volumes = (*Dir)(nil)
	_ podsync.Files   = (*Dir)(nil)
)

// New makes a Dir. It touches nothing yet.
func New(cfg Config) (*Dir, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Dir{cfg: cfg}, nil
}

// Problems implements podsync.Volumes.
func (d *Dir) Problems(pod *v1.Pod) []podsync.Problem {
	var out []podsync.Problem
	for _, p := range volume.Problems(pod) {
		out = append(out, podsync.Problem(p))
	}
	return out
}

// pod opens the directory of a pod, and makes it if need be.
func (d *Dir) pod(uid types.UID) (*os.Root, error) {
	if err := volume.Element(string(uid)); err != nil {
		return nil, fmt.Errorf("the UID: %w", err)
	}
	if err := os.MkdirAll(d.cfg.Root, private); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(d.cfg.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return subdir(root, "pods", string(uid))
}

// look opens the directory of a pod, if there is one.
func (d *Dir) look(uid types.UID, below ...string) (*os.Root, error) {
	for _, name := range append([]string{string(uid)}, below...) {
		if err := volume.Element(name); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(d.cfg.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenRoot(path.Join(append([]string{"pods", string(uid)}, below...)...))
}

// hostPath is the path on the host of something below the directory of a pod.
func (d *Dir) hostPath(uid types.UID, names ...string) string {
	return filepath.Join(append([]string{d.cfg.Root, "pods", string(uid)}, names...)...)
}

// subdir opens a directory of ours below another, one element at a time, and
// makes what is missing.
func subdir(parent *os.Root, names ...string) (*os.Root, error) {
	dir := parent
	for i, name := range names {
		err := volume.Element(name)
		if err == nil {
			err = mkdir(dir, name, private)
		}
		var next *os.Root
		if err == nil {
			next, err = dir.OpenRoot(name)
		}
		if i > 0 {
			dir.Close()
		}
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// mkdir makes a directory, unless there is one. A link to one is none.
func mkdir(dir *os.Root, name string, mode fs.FileMode) error {
	err := dir.Mkdir(name, mode)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := dir.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory: %s", filepath.Join(dir.Name(), name), what(info.Mode()))
	}
	return err
}
