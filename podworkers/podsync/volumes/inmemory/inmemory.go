package inmemory

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/find"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
	"github.com/podkeel/podkeel/runtime"
)

// Config has the parts and the settings of Volumes. The zero value is valid.
type Config struct {
	// Objects finds ConfigMaps and Secrets. Nil: no object exists.
	Objects podsync.Objects
	// Tokens returns service account tokens. Nil: pods with volumes that need a token are rejected.
	Tokens podsync.Tokens
	// Claims finds the volumes of claims. Nil: pods with such volumes are rejected.
	Claims podsync.Claims
	// Allocatable has the resources that the node has for pods. Downward API files show them.
	Allocatable v1.ResourceList
	// Root is the directory of all returned paths. Default "/inmemory".
	Root string
}

// Volumes are volumes in memory.
type Volumes struct {
	cfg Config
	mu  struct {
		sync.Mutex
		up   map[types.UID]bool // pods whose SetUp has succeeded
		logs map[types.UID]map[containerAttempt]fileContent
		// files has the content that WriteVolumeFile has stored.
		files map[types.UID]map[volumeFile]fileContent
	}
}

type volumeFile struct{ volume, path string }

type containerAttempt struct {
	container string
	number    uint32
}

type fileContent struct {
	text []byte
	err  error
}

var (
	_ podsync.Volumes          = (*Volumes)(nil)
	_ podsync.VolumeRefresher  = (*Volumes)(nil)
	_ podsync.VolumeFileReader = (*Volumes)(nil)
	_ podsync.Files            = (*Volumes)(nil)
)

// New returns volumes in memory.
func New(cfg Config) *Volumes {
	cfg.Root = cmp.Or(cfg.Root, "/inmemory")
	v := &Volumes{cfg: cfg}
	v.mu.up = make(map[types.UID]bool)
	v.mu.logs = make(map[types.UID]map[containerAttempt]fileContent)
	v.mu.files = make(map[types.UID]map[volumeFile]fileContent)
	return v
}

// Problems implements podsync.Volumes.
func (v *Volumes) Problems(pod *v1.Pod) []podsync.Problem {
	var out []podsync.Problem
	for _, p := range volume.Problems(pod, volume.Features{Tokens: v.cfg.Tokens != nil, Claims: v.cfg.Claims != nil}) {
		out = append(out, podsync.Problem(p))
	}
	return out
}

// SetUp implements podsync.Volumes. It checks that the files of the volumes could be written.
func (v *Volumes) SetUp(ctx context.Context, pod *v1.Pod) error {
	if err := v.checkVolumesCanBeSetUp(ctx, pod); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.up[pod.UID] = true
	return nil
}

// checkVolumesCanBeSetUp returns an error if the volumes of the pod could not be set up. That is the case if a
// ConfigMap, Secret, token or claim is missing, if a huge page size is invalid, or if the files cannot be
// built. It writes nothing.
func (v *Volumes) checkVolumesCanBeSetUp(ctx context.Context, pod *v1.Pod) error {
	objects, err := find.FindObjects(ctx, v.cfg.Objects, pod.Namespace, volume.ObjectRefs(pod))
	if err == nil {
		err = find.FindTokens(ctx, v.cfg.Tokens, pod, volume.TokenRefs(pod), &objects)
	}
	if err != nil {
		return fmt.Errorf("inmemory: %w", &volume.NotUpdatedError{Err: err})
	}
	if _, _, err := find.BindClaims(ctx, v.cfg.Claims, pod); err != nil {
		return fmt.Errorf("inmemory: %w", err)
	}
	for i := range pod.Spec.Volumes {
		if e := pod.Spec.Volumes[i].EmptyDir; e != nil && volume.IsHugePages(e.Medium) {
			if _, err := volume.PageSize(pod, e.Medium); err != nil {
				return fmt.Errorf("inmemory: %w", &volume.SetUpError{Volume: pod.Spec.Volumes[i].Name, Err: err})
			}
		}
		if _, err := volume.Files(pod, &pod.Spec.Volumes[i], objects, v.cfg.Allocatable); err != nil {
			return fmt.Errorf("inmemory: %w", &volume.SetUpError{Volume: pod.Spec.Volumes[i].Name, Err: &volume.NotUpdatedError{Err: err}})
		}
	}
	return ctx.Err()
}

// Refresh implements podsync.VolumeRefresher. For a pod that is set up, it checks that the files of the
// volumes could be written.
func (v *Volumes) Refresh(ctx context.Context, pod *v1.Pod) error {
	v.mu.Lock()
	up := v.mu.up[pod.UID]
	v.mu.Unlock()
	if !up {
		return nil
	}
	return v.checkVolumesCanBeSetUp(ctx, pod)
}

// Mounts implements podsync.Volumes.
func (v *Volumes) Mounts(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]runtime.Mount, error) {
	pod, claims, err := find.BindClaims(ctx, v.cfg.Claims, pod)
	if err != nil {
		return nil, fmt.Errorf("inmemory: %w", err)
	}
	mounts, err := volume.Mounts(pod, c, expand)
	if err != nil {
		return nil, fmt.Errorf("inmemory: %w", err)
	}
	var out []runtime.Mount
	for _, m := range mounts {
		if m.Image != "" {
			out = append(out, m.Mount)
			continue
		}
		base := v.podPath(pod.UID, "volumes", m.Volume.Name)
		if m.Volume.HostPath != nil {
			base = m.Volume.HostPath.Path
		}
		m.HostPath, m.ReadOnly = path.Join(base, m.SubPath), m.ReadOnly || claims[m.Volume.Name].ReadOnly
		out = append(out, m.Mount)
	}
	return out, nil
}

// TearDown implements podsync.Volumes.
func (v *Volumes) TearDown(_ context.Context, uid types.UID) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.mu.up, uid)
	delete(v.mu.logs, uid)
	delete(v.mu.files, uid)
	return nil
}

// Hosts implements podsync.Files.
func (v *Volumes) Hosts(pod *v1.Pod, ips, names []string) (string, error) {
	if _, err := volume.HostsFile(pod, ips, names, nil); err != nil {
		return "", fmt.Errorf("inmemory: %w", err)
	}
	return v.podPath(pod.UID, "etc-hosts"), nil
}

// TerminationLog implements podsync.Files.
func (v *Volumes) TerminationLog(pod *v1.Pod, container string, number uint32) (string, error) {
	return v.podPath(pod.UID, "containers", container, fmt.Sprint(number)), nil
}

// ReadTerminationLog implements podsync.Files.
func (v *Volumes) ReadTerminationLog(uid types.UID, container string, number uint32, limit int) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := v.mu.logs[uid][containerAttempt{container, number}]
	if limit = max(limit, 0); len(last.text) > limit {
		return last.text[len(last.text)-limit:], last.err
	}
	return last.text, last.err
}

// WriteTerminationLog simulates a container that writes its termination message. With an error, reads
// of the message return the error.
func (v *Volumes) WriteTerminationLog(uid types.UID, container string, number uint32, text string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.logs[uid] == nil {
		v.mu.logs[uid] = make(map[containerAttempt]fileContent)
	}
	v.mu.logs[uid][containerAttempt{container, number}] = fileContent{[]byte(text), err}
}

// ReadVolumeFile implements podsync.VolumeFileReader. It returns the content that WriteVolumeFile has
// stored.
func (v *Volumes) ReadVolumeFile(_ context.Context, pod *v1.Pod, name, path string, limit int) (data []byte, more bool, err error) {
	path, err = volume.ReadableFile(pod, name, path)
	if err != nil {
		return nil, false, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	file, ok := v.mu.files[pod.UID][volumeFile{name, path}]
	switch {
	case !ok:
		return nil, false, fmt.Errorf("it cannot be read: %w", fs.ErrNotExist)
	case file.err != nil:
		return nil, false, fmt.Errorf("it cannot be read: %w", file.err)
	case len(file.text) > limit:
		return file.text[:limit], true, nil
	}
	return file.text, false, nil
}

// WriteVolumeFile simulates a container that writes a file into an emptyDir volume of its pod. With an
// error, reads of the file return the error. The file exists until TearDown. path is relative to the
// volume, in its shortest form.
func (v *Volumes) WriteVolumeFile(uid types.UID, volume, path, text string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.files[uid] == nil {
		v.mu.files[uid] = make(map[volumeFile]fileContent)
	}
	v.mu.files[uid][volumeFile{volume, path}] = fileContent{[]byte(text), err}
}

// podPath returns the path of names in the directory of a pod. It creates nothing.
func (v *Volumes) podPath(uid types.UID, names ...string) string {
	return path.Join(append([]string{v.cfg.Root, "pods", string(uid)}, names...)...)
}
