package observe

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/syncloop/eviction"
)

// MaxAge is how long the measured usage of a pod is used again.
const MaxAge = time.Minute

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
	err     error // stored too, so that a pod with very many files is not walked in each pass
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
// pod, and the logs of its containers. After an error, also of ctx, each figure is a lower bound.
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
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.measured[pod.UID] = measurement{now, storage, err}
	return storage, err
}

// measureStorage reads the directories of a pod. After an error it goes on with the next directory. It returns the
// first error. It measures volumes with a size limit and logs first, because very many files in a volume without a
// limit may take all the time that ctx leaves.
func (f *Files) measureStorage(ctx context.Context, pod *v1.Pod) (eviction.Storage, error) {
	storage := eviction.Storage{Logs: map[string]eviction.DiskUsage{}}
	var walk osfile.UsageWalk
	var fault error
	measure := func(root string) eviction.DiskUsage {
		usage, err := walk.Measure(ctx, root)
		if err != nil && fault == nil {
			fault = fmt.Errorf("observe: %w", err)
		}
		return eviction.DiskUsage{Bytes: &usage.Bytes, Inodes: &usage.Inodes}
	}
	measureVolumes := func(limited bool) {
		for i := range pod.Spec.Volumes {
			v := &pod.Spec.Volumes[i]
			isLocal := v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault || v.ConfigMap != nil || v.GitRepo != nil
			if hasLimit := v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil; isLocal && hasLimit == limited && f.config.VolumeDirectory != nil {
				storage.Volumes = append(storage.Volumes, eviction.VolumeUsage{Name: v.Name, DiskUsage: measure(f.config.VolumeDirectory(pod, v))})
			}
		}
	}
	measureVolumes(true)
	for _, c := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		if f.config.LogDirectory != nil {
			storage.Logs[c.Name] = measure(f.config.LogDirectory(pod, c.Name))
		}
	}
	measureVolumes(false)
	return storage, fault
}
