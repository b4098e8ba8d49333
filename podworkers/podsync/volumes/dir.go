package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/keylock"
	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/internal/podspec"
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
	ownerFile     = "owner"  // namespace/name of the pod that it was made for
	ownerMade     = ".owner" // the same while it is being written
)

// podsDir has the directories of all pods, and the trash.
const podsDir = "pods"

// private is the mode of directories in which nobody but the agent has business.
const private fs.FileMode = 0o750

// Dir keeps the volumes and the files of pods below a directory.
type Dir struct {
	cfg Config
	// locks are held while the directory of a pod is made or filled, and over the
	// question whether it may go together with the rename that has it out of the way;
	// not while a tree is removed or an object is fetched.
	locks keylock.Locks[types.UID]
	order order
	known func(types.UID) (bool, error) // see GuardDiscards; nil: nothing is asked
}

var (
	_ podsync.Volumes          = (*Dir)(nil)
	_ podsync.VolumeRefresher  = (*Dir)(nil)
	_ podsync.VolumeFileReader = (*Dir)(nil)
	_ podsync.Files            = (*Dir)(nil)
	_ podsync.DiscardGuard     = (*Dir)(nil)
	_ podsync.VolumeOwner      = (*Dir)(nil)
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
	for _, p := range volume.Problems(pod, volume.Features{Tokens: d.cfg.Tokens != nil, Claims: d.cfg.Claims != nil}) {
		out = append(out, podsync.Problem(p))
	}
	return out
}

// pods opens the directory of all pods. fs.ErrNotExist: there is none.
func (d *Dir) pods() (*os.Root, error) {
	root, err := osfile.OpenDir(d.cfg.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return osfile.OpenSubdir(root, podsDir)
}

// pod opens the directory of a pod, and makes it if need be. The caller has the lock of
// the UID. What another pod has left under this UID is put aside if that is allowed, and nothing
// of it is seen (discarded).
func (d *Dir) pod(pod *v1.Pod, allowed discarding) (dir *os.Root, discarded bool, err error) {
	if err := podspec.CheckUID(pod.UID); err != nil {
		return nil, false, err
	}
	if err := os.MkdirAll(d.cfg.Root, private); err != nil {
		return nil, false, err
	}
	root, err := osfile.OpenDir(d.cfg.Root)
	if err != nil {
		return nil, false, err
	}
	defer root.Close()
	pods, err := subdir(root, podsDir)
	if err != nil {
		return nil, false, err
	}
	defer pods.Close()
	return owned(pods, pod, allowed)
}

// look opens the directory of a pod, or one below it, if there is one.
func (d *Dir) look(uid types.UID, below ...string) (*os.Root, error) {
	if err := podspec.CheckUID(uid); err != nil {
		return nil, err
	}
	dir, err := d.pods()
	if err != nil {
		return nil, err
	}
	for _, name := range append([]string{string(uid)}, below...) {
		next, err := osfile.OpenSubdir(dir, name)
		dir.Close()
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// OwnerOf implements podsync.VolumeOwner.
func (d *Dir) OwnerOf(uid types.UID) (owner types.NamespacedName, found bool) {
	dir, err := d.look(uid)
	if err != nil {
		return owner, false
	}
	defer dir.Close()
	said, err := ownerOf(dir, "")
	if err != nil || said == "" {
		return owner, false
	}
	owner.Namespace, owner.Name, _ = strings.Cut(said, "/")
	return owner, true
}

// hostPath is the path on the host of something below the directory of a pod.
func (d *Dir) hostPath(uid types.UID, names ...string) string {
	return filepath.Join(append([]string{d.cfg.Root, podsDir, string(uid)}, names...)...)
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
			next, err = osfile.OpenSubdir(dir, name)
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
		err = fmt.Errorf("%s is no directory: %s", filepath.Join(dir.Name(), name), osfile.Kind(info.Mode()))
	}
	return err
}
