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

// The bounds of the files of one volume.
const (
	// MaxBytes bounds the content of all files together.
	MaxBytes = 8 << 20
	// MaxFiles bounds the number of files.
	MaxFiles = 10_000
)

// ErrTooLarge: a volume has more than MaxBytes or MaxFiles.
var ErrTooLarge = errors.New("too large")

// File is one file of a volume.
type File struct {
	Path string // the path in the volume, with slashes
	Data []byte // must not be changed
	Mode uint32 // the permissions
	// Owner is the user that owns the file. Nil is the user of the agent.
	Owner *int64
}

// ObjectRefs returns the objects that the volumes of a pod refer to, each once.
func ObjectRefs(pod *v1.Pod) []environ.ObjectRef {
	var all []environ.ObjectRef
	for i := range pod.Spec.Volumes {
		for _, s := range sourcesOf(&pod.Spec.Volumes[i]) {
			switch {
			case s.ConfigMap != nil:
				all = append(all, environ.ObjectRef{Kind: environ.ConfigMap, Name: s.ConfigMap.Name, Optional: isTrue(s.ConfigMap.Optional)})
			case s.Secret != nil:
				all = append(all, environ.ObjectRef{Kind: environ.Secret, Name: s.Secret.Name, Optional: isTrue(s.Secret.Optional)})
			}
		}
	}
	return environ.UniqueObjectRefs(all)
}

// TokenRefs returns the service account tokens that the volumes of a pod refer to, each once.
func TokenRefs(pod *v1.Pod) (all []environ.TokenRef) {
	for i := range pod.Spec.Volumes {
		for _, s := range sourcesOf(&pod.Spec.Volumes[i]) {
			if need := tokenRefOf(s); s.ServiceAccountToken != nil && !slices.Contains(all, need) {
				all = append(all, need)
			}
		}
	}
	return all
}

// tokenRefOf returns the audience and the lifetime of the service account token that a projected source
// requests. The default lifetime is one hour. A source of another kind gives the zero value.
func tokenRefOf(s v1.VolumeProjection) environ.TokenRef {
	const usual = 60 * 60
	if s.ServiceAccountToken == nil {
		return environ.TokenRef{}
	}
	need := environ.TokenRef{Audience: s.ServiceAccountToken.Audience, ExpirationSeconds: usual}
	if seconds := s.ServiceAccountToken.ExpirationSeconds; seconds != nil {
		need.ExpirationSeconds = *seconds
	}
	return need
}

// isTrue reports whether b is not nil and true.
func isTrue(b *bool) bool { return b != nil && *b }

// sourcesOf returns the sources of a configMap, secret, downwardAPI or projected volume, in the form of a
// projected volume. It returns nil for a volume of another kind.
func sourcesOf(v *v1.Volume) []v1.VolumeProjection {
	switch KindOf(v) {
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

// defaultModeOf returns the defaultMode of a configMap, secret, downwardAPI or projected volume. It returns nil
// if the mode is not set or the volume is of another kind.
func defaultModeOf(v *v1.Volume) *int32 {
	switch KindOf(v) {
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

// Files returns the files of a configMap, secret, downwardAPI or projected volume, sorted by path.
func Files(pod *v1.Pod, v *v1.Volume, objects environ.Objects, allocatable v1.ResourceList) ([]File, error) {
	const usual = 0o644
	w := fileCollector{pod: pod, objects: objects, allocatable: allocatable, files: map[string]File{}, mode: usual}
	if mode := defaultModeOf(v); mode != nil {
		w.mode = uint32(*mode) & 0o777
	}
	for i, s := range sourcesOf(v) {
		if err := w.addSource(s); err != nil {
			if KindOf(v) == Projected {
				err = fmt.Errorf("sources[%d]: %w", i, err)
			}
			return nil, err
		}
	}
	out := slices.Collect(maps.Values(w.files))
	slices.SortStableFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out, checkNoNestedFiles(out)
}

// checkNoNestedFiles returns an error if one file has the path "a" and another file a path such as "a/b", for
// which "a" must be a directory.
func checkNoNestedFiles(files []File) error {
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

// fileCollector collects the files of a volume.
type fileCollector struct {
	pod         *v1.Pod
	objects     environ.Objects
	allocatable v1.ResourceList
	files       map[string]File
	mode        uint32 // the mode of files without a mode of their own
	size        int
}

// addSource adds the files of one source of a projected volume: a ConfigMap, a Secret, downward API items or a
// service account token. It returns an error for a source of another kind.
func (w *fileCollector) addSource(s v1.VolumeProjection) error {
	switch {
	case s.ConfigMap != nil:
		m := w.objects.ConfigMaps[s.ConfigMap.Name]
		var data map[string][]byte
		if m != nil {
			data = mergeData(m.BinaryData, m.Data)
		}
		return w.addObjectKeys(environ.ObjectRef{Kind: environ.ConfigMap, Name: s.ConfigMap.Name, Optional: isTrue(s.ConfigMap.Optional)},
			m != nil, data, s.ConfigMap.Items)
	case s.Secret != nil:
		o := w.objects.Secrets[s.Secret.Name]
		var data map[string][]byte
		if o != nil {
			data = mergeData(o.Data, o.StringData)
		}
		return w.addObjectKeys(environ.ObjectRef{Kind: environ.Secret, Name: s.Secret.Name, Optional: isTrue(s.Secret.Optional)},
			o != nil, data, s.Secret.Items)
	case s.DownwardAPI != nil:
		return w.addDownwardAPI(s.DownwardAPI.Items)
	case s.ServiceAccountToken != nil:
		return w.addToken(s)
	}
	return fmt.Errorf("%s is not supported", strings.Join(nonNilFieldNames(s), " and "))
}

// mergeData returns a new map with the binary and the text data of an object. If both have a key, the text is
// used.
func mergeData(data map[string][]byte, text map[string]string) map[string][]byte {
	all := make(map[string][]byte, len(data)+len(text))
	maps.Copy(all, data)
	for key, value := range text {
		all[key] = []byte(value)
	}
	return all
}

// addObjectKeys adds a file for each item, or for each key of the object if there are no items. A missing
// object or key is an error, unless the reference is optional.
func (w *fileCollector) addObjectKeys(ref environ.ObjectRef, exists bool, data map[string][]byte, items []v1.KeyToPath) error {
	name := fmt.Sprintf("%s %s/%s", ref.Kind, w.pod.Namespace, ref.Name)
	if !exists {
		if ref.Optional {
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
		if !ok && ref.Optional {
			continue
		}
		if !ok {
			return fmt.Errorf("the %s has no key %q: %w", name, item.Key, runtime.ErrNotFound)
		}
		if err := w.addFile(item.Path, value, item.Mode); err != nil {
			return fmt.Errorf("%s, key %q: %w", name, item.Key, err)
		}
	}
	return nil
}

// addToken adds the file of a service account token to the files of a volume. With an fsGroup only the owner
// and that group may read the file; the group is set when the file is written. Without an fsGroup, if all
// containers run as the same user, that user owns the file and only that user may read it. In all other cases
// the file has the default mode (VC-20). It returns an error if the token is missing.
func (w *fileCollector) addToken(s v1.VolumeProjection) error {
	const private = 0o600
	token, ok := w.objects.Tokens[tokenRefOf(s)]
	if !ok {
		return errors.New("serviceAccountToken is not supported")
	}
	if err := w.addFile(s.ServiceAccountToken.Path, []byte(token), nil); err != nil {
		return err
	}
	clean, _ := cleanFilePath(s.ServiceAccountToken.Path)
	f := w.files[clean]
	if c := w.pod.Spec.SecurityContext; c != nil && c.FSGroup != nil {
		f.Mode = f.Mode&private | 0o400
	} else if user := commonRunAsUser(w.pod); user != nil {
		f.Mode, f.Owner = f.Mode&private|0o400, user
	}
	w.files[clean] = f
	return nil
}

// commonRunAsUser returns the runAsUser with which all containers of the pod run, of any kind. A container
// without its own value has the value of the pod. It returns nil if the users differ, or a container has none.
func commonRunAsUser(pod *v1.Pod) (common *int64) {
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

// addDownwardAPI adds a file for each downward API item. It returns an error at the first invalid item.
func (w *fileCollector) addDownwardAPI(items []v1.DownwardAPIVolumeFile) error {
	for i := range items {
		text, err := downwardAPIFileContent(w.pod, &items[i], w.allocatable)
		if err == nil {
			err = w.addFile(items[i].Path, []byte(text), items[i].Mode)
		}
		if err != nil {
			return fmt.Errorf("downwardAPI, items[%d]: %w", i, err)
		}
	}
	return nil
}

// downwardAPIFileContent returns the value of the fieldRef or resourceFieldRef in a downward API item. An item
// with neither is an error.
func downwardAPIFileContent(pod *v1.Pod, item *v1.DownwardAPIVolumeFile, allocatable v1.ResourceList) (string, error) {
	switch {
	case item.FieldRef != nil:
		return environ.PodField(pod, item.FieldRef.FieldPath)
	case item.ResourceFieldRef != nil:
		return environ.ResourceField(pod, "", item.ResourceFieldRef, allocatable)
	}
	return "", errors.New("it has neither fieldRef nor resourceFieldRef")
}

// addFile adds a file at a path, and replaces a file of an earlier source there. Without a mode the file gets
// the default mode of the volume. It returns an error if the path is invalid, or the volume has too many bytes
// or files.
func (w *fileCollector) addFile(path string, data []byte, mode *int32) error {
	clean, err := cleanFilePath(path)
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

// HasDownwardAPI reports whether a file of a volume shows fields of the pod, which may change.
func HasDownwardAPI(v *v1.Volume) bool {
	return slices.ContainsFunc(sourcesOf(v), func(s v1.VolumeProjection) bool { return s.DownwardAPI != nil })
}
