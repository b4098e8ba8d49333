package volume

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/runtime"
)

// What one volume holds at most.
const (
	// MaxBytes bounds the contents of its files.
	MaxBytes = 8 << 20
	// MaxFiles bounds their number.
	MaxFiles = 10_000
)

// ErrTooLarge: a volume has more than MaxBytes or MaxFiles.
var ErrTooLarge = errors.New("too large")

// File is one file of a volume.
type File struct {
	Path string // below the volume, with slashes
	Data []byte // only read
	Mode uint32 // permissions
	// Owner is the user to whom the file belongs; nil is the agent's.
	Owner *int64
}

// Needs are the objects to which the volumes of a pod refer, each once.
func Needs(pod *v1.Pod) []environ.Need {
	var all []environ.Need
	for i := range pod.Spec.Volumes {
		for _, s := range sources(&pod.Spec.Volumes[i]) {
			switch {
			case s.ConfigMap != nil:
				all = append(all, environ.Need{Kind: environ.ConfigMap, Name: s.ConfigMap.Name, Optional: isSet(s.ConfigMap.Optional)})
			case s.Secret != nil:
				all = append(all, environ.Need{Kind: environ.Secret, Name: s.Secret.Name, Optional: isSet(s.Secret.Optional)})
			}
		}
	}
	return environ.Unique(all)
}

// Tokens are the tokens to which the volumes of a pod refer, each once.
func Tokens(pod *v1.Pod) (all []environ.TokenNeed) {
	for i := range pod.Spec.Volumes {
		for _, s := range sources(&pod.Spec.Volumes[i]) {
			if need := tokenOf(s); s.ServiceAccountToken != nil && !slices.Contains(all, need) {
				all = append(all, need)
			}
		}
	}
	return all
}

// tokenOf is what a source asks for that is a token.
func tokenOf(s v1.VolumeProjection) environ.TokenNeed {
	const usual = 60 * 60
	if s.ServiceAccountToken == nil {
		return environ.TokenNeed{}
	}
	need := environ.TokenNeed{Audience: s.ServiceAccountToken.Audience, ExpirationSeconds: usual}
	if seconds := s.ServiceAccountToken.ExpirationSeconds; seconds != nil {
		need.ExpirationSeconds = *seconds
	}
	return need
}

func isSet(b *bool) bool { return b != nil && *b }

// sources are what the files of a volume come from: a volume of one source is
// a projected volume that has but one.
func sources(v *v1.Volume) []v1.VolumeProjection {
	switch Of(v) {
	case ConfigMap:
		m := v.ConfigMap
		return []v1.VolumeProjection{{ConfigMap: &v1.ConfigMapProjection{
			LocalObjectReference: m.LocalObjectReference, Items: m.Items, Optional: m.Optional,
		}}}
	case Secret:
		s := v.Secret
		return []v1.VolumeProjection{{Secret: &v1.SecretProjection{
			LocalObjectReference: v1.LocalObjectReference{Name: s.SecretName}, Items: s.Items, Optional: s.Optional,
		}}}
	case DownwardAPI:
		return []v1.VolumeProjection{{DownwardAPI: &v1.DownwardAPIProjection{Items: v.DownwardAPI.Items}}}
	case Projected:
		return v.Projected.Sources
	}
	return nil
}

func defaultMode(v *v1.Volume) *int32 {
	switch Of(v) {
	case ConfigMap:
		return v.ConfigMap.DefaultMode
	case Secret:
		return v.Secret.DefaultMode
	case DownwardAPI:
		return v.DownwardAPI.DefaultMode
	case Projected:
		return v.Projected.DefaultMode
	}
	return nil
}

// Files are the files of a volume that has some, in the order of their paths.
func Files(pod *v1.Pod, v *v1.Volume, objects environ.Objects, allocatable v1.ResourceList) ([]File, error) {
	const usual = 0o644
	w := writer{pod: pod, objects: objects, allocatable: allocatable, files: map[string]File{}, mode: usual}
	if mode := defaultMode(v); mode != nil {
		w.mode = uint32(*mode) & 0o777
	}
	for i, s := range sources(v) {
		if err := w.source(s); err != nil {
			if Of(v) == Projected {
				err = fmt.Errorf("sources[%d]: %w", i, err)
			}
			return nil, err
		}
	}
	out := slices.Collect(maps.Values(w.files))
	slices.SortStableFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out, nested(out)
}

// nested fails if a file would be the directory of another.
func nested(files []File) error {
	names := make(map[string]bool, len(files))
	for _, f := range files {
		names[f.Path] = true
	}
	for _, f := range files {
		for i := range len(f.Path) {
			if f.Path[i] == '/' && names[f.Path[:i]] {
				return fmt.Errorf("%w: %q is a file and the directory of another", ErrPath, f.Path[:i])
			}
		}
	}
	return nil
}

// writer gathers the files of a volume.
type writer struct {
	pod         *v1.Pod
	objects     environ.Objects
	allocatable v1.ResourceList
	files       map[string]File
	mode        uint32 // of a file that does not say
	size        int
}

func (w *writer) source(s v1.VolumeProjection) error {
	switch {
	case s.ConfigMap != nil:
		m := w.objects.ConfigMaps[s.ConfigMap.Name]
		var data map[string][]byte
		if m != nil {
			data = merged(m.BinaryData, m.Data)
		}
		return w.object(environ.Need{Kind: environ.ConfigMap, Name: s.ConfigMap.Name, Optional: isSet(s.ConfigMap.Optional)},
			m != nil, data, s.ConfigMap.Items)
	case s.Secret != nil:
		o := w.objects.Secrets[s.Secret.Name]
		var data map[string][]byte
		if o != nil {
			data = merged(o.Data, o.StringData)
		}
		return w.object(environ.Need{Kind: environ.Secret, Name: s.Secret.Name, Optional: isSet(s.Secret.Optional)},
			o != nil, data, s.Secret.Items)
	case s.DownwardAPI != nil:
		return w.downward(s.DownwardAPI.Items)
	case s.ServiceAccountToken != nil:
		return w.token(s)
	}
	return fmt.Errorf("%s cannot be had here", strings.Join(given(s), " and "))
}

// merged has the keys of both; what is there as text goes first.
func merged(data map[string][]byte, text map[string]string) map[string][]byte {
	all := make(map[string][]byte, len(data)+len(text))
	maps.Copy(all, data)
	for key, value := range text {
		all[key] = []byte(value)
	}
	return all
}

// object writes the keys of an object: those that are listed, or all of them.
func (w *writer) object(need environ.Need, exists bool, data map[string][]byte, items []v1.KeyToPath) error {
	name := fmt.Sprintf("%s %s/%s", need.Kind, w.pod.Namespace, need.Name)
	if !exists {
		if need.Optional {
			return nil
		}
		return fmt.Errorf("there is no %s: %w", name, runtime.ErrNotFound)
	}
	if len(items) == 0 {
		for _, key := range slices.Sorted(maps.Keys(data)) {
			items = append(items, v1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok && need.Optional {
			continue
		}
		if !ok {
			return fmt.Errorf("the %s has no key %q: %w", name, item.Key, runtime.ErrNotFound)
		}
		if err := w.file(item.Path, value, item.Mode); err != nil {
			return fmt.Errorf("%s, key %q: %w", name, item.Key, err)
		}
	}
	return nil
}

// token writes a token that nobody but the pod may read, as far as that can be said: all
// of its containers have one user, or a group of the volume's files. [VC-20]
func (w *writer) token(s v1.VolumeProjection) error {
	const private = 0o600
	token, ok := w.objects.Tokens[tokenOf(s)]
	if !ok {
		return errors.New("serviceAccountToken cannot be had here")
	}
	if err := w.file(s.ServiceAccountToken.Path, []byte(token), nil); err != nil {
		return err
	}
	clean, _ := fileBelow(s.ServiceAccountToken.Path)
	f := w.files[clean]
	if c := w.pod.Spec.SecurityContext; c != nil && c.FSGroup != nil {
		f.Mode = f.Mode&private | 0o400
	} else if user := commonUser(w.pod); user != nil {
		f.Mode, f.Owner = f.Mode&private|0o400, user
	}
	w.files[clean] = f
	return nil
}

// commonUser is the user as which all containers of a pod run; nil if there is none, or
// that is left to an image.
func commonUser(pod *v1.Pod) (common *int64) {
	first := true
	for c := range podspec.AllAndEphemeralContainers(pod) {
		var user *int64
		if pod.Spec.SecurityContext != nil {
			user = pod.Spec.SecurityContext.RunAsUser
		}
		if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
			user = c.SecurityContext.RunAsUser
		}
		if user == nil || !first && *user != *common {
			return nil
		}
		common, first = user, false
	}
	return common
}

// downward writes what the pod is told of itself.
func (w *writer) downward(items []v1.DownwardAPIVolumeFile) error {
	for i := range items {
		text, err := told(w.pod, &items[i], w.allocatable)
		if err == nil {
			err = w.file(items[i].Path, []byte(text), items[i].Mode)
		}
		if err != nil {
			return fmt.Errorf("downwardAPI, items[%d]: %w", i, err)
		}
	}
	return nil
}

// told is the content of a file of the downward API.
func told(pod *v1.Pod, item *v1.DownwardAPIVolumeFile, allocatable v1.ResourceList) (string, error) {
	switch {
	case item.FieldRef != nil:
		return environ.Field(pod, item.FieldRef.FieldPath)
	case item.ResourceFieldRef != nil:
		return environ.Resource(pod, "", item.ResourceFieldRef, allocatable)
	}
	return "", errors.New("it has neither fieldRef nor resourceFieldRef")
}

// file adds a file, in the place of one that an earlier source has there.
func (w *writer) file(p string, data []byte, mode *int32) error {
	clean, err := fileBelow(p)
	if err != nil {
		return err
	}
	w.size += len(data)
	if w.size > MaxBytes || len(w.files) >= MaxFiles {
		return fmt.Errorf("%w: a volume has at most %d bytes and %d files", ErrTooLarge, MaxBytes, MaxFiles)
	}
	f := File{Path: clean, Data: data, Mode: w.mode}
	if mode != nil {
		f.Mode = uint32(*mode) & 0o777
	}
	w.files[clean] = f
	return nil
}

// Downward reports whether some files of a volume tell of the pod, which may
// change.
func Downward(v *v1.Volume) bool {
	return slices.ContainsFunc(sources(v), func(s v1.VolumeProjection) bool { return s.DownwardAPI != nil })
}
