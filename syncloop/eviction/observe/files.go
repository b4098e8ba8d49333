package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/syncloop/eviction"
)

const (
	// MaxFiles limits how many files of a pod are counted.
	MaxFiles = 1_000_000
	// MaxAge is how long the measured usage of a pod is used again.
	MaxAge = time.Minute
)

// errTooManyFiles is returned for a pod with more than MaxFiles files.
var errTooManyFiles = fmt.Errorf("observe: the pod has more than %d files", MaxFiles)

// FilesConfig configures Files. A nil function counts nothing.
type FilesConfig struct {
	// VolumeDirectory returns the directory of a volume of a pod.
	VolumeDirectory func(pod *v1.Pod, volume *v1.Volume) string
	// LogDirectory returns the directory with the logs of a container.
	LogDirectory func(pod *v1.Pod, container string) string
	// Clock is the clock; nil is the real one.
	Clock clock.PassiveClock
}

// VolumeDirectory returns a function for FilesConfig.VolumeDirectory, for volumes that package volumes has set up below
// this root.
func VolumeDirectory(root string) func(pod *v1.Pod, volume *v1.Volume) string {
	return func(pod *v1.Pod, volume *v1.Volume) string {
		return filepath.Join(root, "pods", string(pod.UID), "volumes", volume.Name)
	}
}

// LogDirectory returns a function for FilesConfig.LogDirectory, for logs below this root, such as /var/log/pods. Logs in
// a directory with another name than the kubelet's count as 0.
func LogDirectory(root string) func(pod *v1.Pod, container string) string {
	return func(pod *v1.Pod, container string) string {
		return filepath.Join(root, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID), container)
	}
}

// Files measures the local storage of pods. It measures a pod at most once in MaxAge, as a kubelet does, also after an
// error. Its methods may be called concurrently.
type Files struct {
	config FilesConfig
	mu     struct {
		sync.Mutex
		measured map[types.UID]measurement
	}
}

// measurement is the measured usage of a pod.
type measurement struct {
	at      time.Time
	storage eviction.Storage
	err     error // stored too, so that a pod with too many files is not walked in each pass
}

// NewFiles returns Files. It reads nothing.
func NewFiles(config FilesConfig) *Files {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	f := &Files{config: config}
	f.mu.measured = map[types.UID]measurement{}
	return f
}

// ReadStorage implements node.StorageReader: it measures the emptyDirs on disk, configMaps and git repositories of a
// pod, and the logs of its containers.
func (f *Files) ReadStorage(ctx context.Context, pod *v1.Pod) (eviction.Storage, error) {
	now := f.config.Clock.Now()
	f.mu.Lock()
	known, ok := f.mu.measured[pod.UID]
	for uid, m := range f.mu.measured {
		if now.Sub(m.at) >= MaxAge {
			delete(f.mu.measured, uid)
		}
	}
	f.mu.Unlock()
	if ok && now.Sub(known.at) < MaxAge {
		return known.storage, known.err
	}
	storage, err := f.measureStorage(ctx, pod)
	if err != nil {
		storage = eviction.Storage{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.measured[pod.UID] = measurement{now, storage, err}
	return storage, err
}

// measureStorage reads the directories of a pod.
func (f *Files) measureStorage(ctx context.Context, pod *v1.Pod) (eviction.Storage, error) {
	storage := eviction.Storage{Logs: map[string]eviction.DiskUsage{}}
	walk := &treeWalk{seen: map[[2]uint64]bool{}}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		isLocal := v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault || v.ConfigMap != nil || v.GitRepo != nil
		if f.config.VolumeDirectory == nil || !isLocal {
			continue
		}
		usage, err := walk.measureTree(ctx, f.config.VolumeDirectory(pod, v))
		if err != nil {
			return storage, err
		}
		storage.Volumes = append(storage.Volumes, eviction.VolumeUsage{Name: v.Name, DiskUsage: usage})
	}
	for _, c := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		if f.config.LogDirectory == nil {
			break
		}
		usage, err := walk.measureTree(ctx, f.config.LogDirectory(pod, c.Name))
		if err != nil {
			return storage, err
		}
		storage.Logs[c.Name] = usage
	}
	return storage, nil
}

// treeWalk counts the files of one pod.
type treeWalk struct {
	files int
	seen  map[[2]uint64]bool // device and inode: a file with two names counts once
}

// measureTree returns the bytes and inodes that a directory and all files below it occupy. It follows no symbolic
// link and leaves out other file systems. It counts a file with several hard links once. A directory that does not
// exist occupies nothing. It leaves out files that disappear during the measurement. It returns errTooManyFiles if
// the walk w meets more than MaxFiles files in all its trees. It also returns the error of ctx or of a file that
// it cannot read.
func (w *treeWalk) measureTree(ctx context.Context, root string) (eviction.DiskUsage, error) {
	var bytes, inodes uint64
	var device uint64
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.files++; w.files > MaxFiles {
			return errTooManyFiles
		}
		var info os.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		itsDevice, inode, size := fileIdentityAndSize(info)
		if path == root {
			device = itsDevice
		}
		switch {
		case itsDevice != device && info.IsDir():
			return filepath.SkipDir
		case itsDevice != device || inode != 0 && w.seen[[2]uint64{itsDevice, inode}]:
			return nil
		}
		w.seen[[2]uint64{itsDevice, inode}] = true
		bytes, inodes = bytes+size, inodes+1
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return eviction.DiskUsage{}, fmt.Errorf("observe: %w", err)
	}
	return eviction.DiskUsage{Bytes: &bytes, Inodes: &inodes}, nil
}
