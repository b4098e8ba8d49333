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

// The entries of the directory of a pod.
const (
	volumesDir    = "volumes"    // a directory for each volume
	stagingDir    = "staging"    // new volumes before their rename
	subPathsDir   = "subpaths"   // by container and index: the bind mount of a part of a volume
	containersDir = "containers" // by container: its termination logs, by attempt
	hostsFile     = "etc-hosts"
	ownerFile     = "owner"  // the namespace and name of the pod
	ownerMade     = ".owner" // the new owner file before its rename
)

// podsDir has the directories of all pods, and the trash.
const podsDir = "pods"

// privateDirMode is the mode of directories that only the agent uses.
const privateDirMode fs.FileMode = 0o750

// Dir stores the volumes and files of pods in a directory.
type Dir struct {
	cfg Config
	// A lock is held while the directory of a pod is created or written, and while it is renamed for its
	// removal, together with the check that it may be removed. It is not held while a directory tree is
	// removed or an object is read.
	locks         keylock.Locks[types.UID]
	readOrder     readOrder
	hasContainers func(types.UID) (bool, error) // the function of GuardDiscards; nil: no check
}

var (
	_ podsync.Volumes          = (*Dir)(nil)
	_ podsync.VolumeRefresher  = (*Dir)(nil)
	_ podsync.VolumeFileReader = (*Dir)(nil)
	_ podsync.Files            = (*Dir)(nil)
	_ podsync.DiscardGuard     = (*Dir)(nil)
	_ podsync.VolumeOwner      = (*Dir)(nil)
)

// New returns a Dir. It does not access the disk.
func New(cfg Config) (*Dir, error) {
	if err := cfg.setDefaultsAndValidate(); err != nil {
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

// openPodsDir opens the parent directory of all pod directories. It returns fs.ErrNotExist if that directory
// does not exist.
func (d *Dir) openPodsDir() (*os.Root, error) {
	root, err := osfile.OpenDir(d.cfg.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return osfile.OpenSubdir(root, podsDir)
}

// openOrMakePodDir opens the directory of a pod, and creates it if it is missing. If the directory belongs to a
// former pod with this UID, it moves that directory to the trash directory and creates a new one. If allowed is
// false, it returns an error instead. The caller holds the lock of the UID.
func (d *Dir) openOrMakePodDir(pod *v1.Pod, allowed discardAllowed) (dir *os.Root, discarded bool, err error) {
	if err := podspec.CheckUID(pod.UID); err != nil {
		return nil, false, err
	}
	if err := os.MkdirAll(d.cfg.Root, privateDirMode); err != nil {
		return nil, false, err
	}
	root, err := osfile.OpenDir(d.cfg.Root)
	if err != nil {
		return nil, false, err
	}
	defer root.Close()
	pods, err := makeAndOpenSubdir(root, podsDir)
	if err != nil {
		return nil, false, err
	}
	defer pods.Close()
	return openOrReplaceOwnedPodDir(pods, pod, allowed)
}

// openPodSubdir opens the directory of a pod or, if below is not empty, the directory at that path in it. It
// creates nothing, and returns fs.ErrNotExist if a directory is missing.
func (d *Dir) openPodSubdir(uid types.UID, below ...string) (*os.Root, error) {
	if err := podspec.CheckUID(uid); err != nil {
		return nil, err
	}
	dir, err := d.openPodsDir()
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
	dir, err := d.openPodSubdir(uid)
	if err != nil {
		return owner, false
	}
	defer dir.Close()
	recordedOwner, err := readOwner(dir, "")
	if err != nil || recordedOwner == "" {
		return owner, false
	}
	owner.Namespace, owner.Name, _ = strings.Cut(recordedOwner, "/")
	return owner, true
}

// podPath returns the host path of names in the directory of a pod. It creates nothing.
func (d *Dir) podPath(uid types.UID, names ...string) string {
	return filepath.Join(append([]string{d.cfg.Root, podsDir, string(uid)}, names...)...)
}

// makeAndOpenSubdir opens the directory at the path names below parent, and creates the missing directories of
// that path. It follows no symbolic link.
func makeAndOpenSubdir(parent *os.Root, names ...string) (*os.Root, error) {
	dir := parent
	for i, name := range names {
		err := volume.CheckPathElement(name)
		if err == nil {
			err = makeDirIfMissing(dir, name, privateDirMode)
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

// makeDirIfMissing creates a directory if it does not exist. It returns an error if a file or a symbolic link
// has the name.
func makeDirIfMissing(dir *os.Root, name string, mode fs.FileMode) error {
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
