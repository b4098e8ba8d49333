package validation

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkVolumesOfNewPod checks, in a new pod (one that no earlier process has accepted), the object names, file
// modes and paths of Secret, ConfigMap, downward API, projected and claim volumes.
func (f *findings) checkVolumesOfNewPod(spec *v1.PodSpec, at *field.Path) {
	for i := range spec.Volumes {
		v, at := &spec.Volumes[i].VolumeSource, at.Child("volumes").Index(i)
		if s := v.Secret; s != nil {
			at := at.Child("secret")
			f.requireValue(at.Child("secretName"), s.SecretName, "expected the name of a Secret")
			f.checkFileMode(at.Child("defaultMode"), s.DefaultMode)
			f.checkKeyPaths(s.Items, at.Child("items"))
		}
		if c := v.ConfigMap; c != nil {
			at := at.Child("configMap")
			f.requireValue(at.Child("name"), c.Name, "expected the name of a ConfigMap")
			f.checkFileMode(at.Child("defaultMode"), c.DefaultMode)
			f.checkKeyPaths(c.Items, at.Child("items"))
		}
		if d := v.DownwardAPI; d != nil {
			f.checkDownwardFilesOfNewPod(d.Items, at.Child("downwardAPI", "items"))
		}
		if p := v.Projected; p != nil {
			f.checkProjectedOfNewPod(spec, p, at.Child("projected"))
		}
		if c := v.PersistentVolumeClaim; c != nil {
			f.requireValue(at.Child("persistentVolumeClaim", "claimName"), c.ClaimName, "expected the name of a claim")
		}
	}
}

// requireValue adds an error with the text expected if a value is empty.
func (f *findings) requireValue(at *field.Path, value, expected string) {
	if value == "" {
		f.addRequired(at, "%s", expected)
	}
}

// checkKeyPaths checks the items of a ConfigMap or Secret volume: each needs a key, a path that stays within
// the volume and does not begin with "..", and a valid file mode.
func (f *findings) checkKeyPaths(items []v1.KeyToPath, at *field.Path) {
	for i, item := range items {
		at := at.Index(i)
		f.requireValue(at.Child("key"), item.Key, "expected a key")
		f.requireValue(at.Child("path"), item.Path, "expected a path in the volume")
		f.checkSubPath(at.Child("path"), item.Path)
		f.checkPathHasNoReservedPrefix(at.Child("path"), item.Path)
		f.checkFileMode(at.Child("mode"), item.Mode)
	}
}

// checkPathHasNoReservedPrefix adds an error for a path that begins with "..", because the node reserves such
// names for the symbolic links with which it updates a volume. It does not look for an element ".." later in
// the path; checkSubPath does that.
func (f *findings) checkPathHasNoReservedPrefix(at *field.Path, path string) {
	if strings.HasPrefix(path, "..") && !hasParentElement(path) {
		f.addInvalid(at, path, "expected a path that does not begin with '..'")
	}
}

// checkDownwardFilesOfNewPod checks the files of a downward API volume in a new pod (one that no earlier
// process has accepted). A path must not begin with "..", and a resource needs a container name and a valid
// divisor.
func (f *findings) checkDownwardFilesOfNewPod(files []v1.DownwardAPIVolumeFile, at *field.Path) {
	for i, file := range files {
		at := at.Index(i)
		f.checkPathHasNoReservedPrefix(at.Child("path"), file.Path)
		if r := file.ResourceFieldRef; r != nil {
			f.requireValue(at.Child("resourceFieldRef", "containerName"), r.ContainerName, "expected the name of a container")
			f.checkDivisor(r, at.Child("resourceFieldRef"))
		}
	}
}

// The limits of the lifetime of a token, in seconds.
const (
	minTokenSeconds       = 10 * 60
	maxTokenSeconds int64 = 1 << 32
)

// checkProjectedOfNewPod checks the sources of one projected volume in a new pod (one that no earlier process
// has accepted): names, keys, paths and tokens. No two ConfigMap, Secret or downward API items may write the
// same file.
func (f *findings) checkProjectedOfNewPod(spec *v1.PodSpec, p *v1.ProjectedVolumeSource, at *field.Path) {
	seen := map[string]*field.Path{}
	file := func(at *field.Path, path string) {
		if path == "" {
			return
		}
		if first, ok := seen[path]; ok {
			f.addDuplicate(at, path, "%s is the same file", first)
			return
		}
		seen[path] = at
	}
	for i, s := range p.Sources {
		at := at.Child("sources").Index(i)
		if s.Secret != nil {
			f.requireValue(at.Child("secret", "name"), s.Secret.Name, "expected the name of a Secret")
			f.checkKeyPaths(s.Secret.Items, at.Child("secret", "items"))
			for i, item := range s.Secret.Items {
				file(at.Child("secret", "items").Index(i).Child("path"), item.Path)
			}
		}
		if s.ConfigMap != nil {
			f.requireValue(at.Child("configMap", "name"), s.ConfigMap.Name, "expected the name of a ConfigMap")
			f.checkKeyPaths(s.ConfigMap.Items, at.Child("configMap", "items"))
			for i, item := range s.ConfigMap.Items {
				file(at.Child("configMap", "items").Index(i).Child("path"), item.Path)
			}
		}
		if s.DownwardAPI != nil {
			at := at.Child("downwardAPI", "items")
			f.checkDownwardFilesOfNewPod(s.DownwardAPI.Items, at)
			for i, item := range s.DownwardAPI.Items {
				file(at.Index(i).Child("path"), item.Path)
			}
		}
		if t := s.ServiceAccountToken; t != nil {
			f.checkServiceAccountToken(spec, t, at.Child("serviceAccountToken"))
		}
	}
}

// checkServiceAccountToken checks the lifetime and the path in the projection of a service account token. The
// pod must have a serviceAccountName.
func (f *findings) checkServiceAccountToken(spec *v1.PodSpec, t *v1.ServiceAccountTokenProjection, at *field.Path) {
	if seconds := t.ExpirationSeconds; seconds != nil && (*seconds < minTokenSeconds || *seconds > maxTokenSeconds) {
		f.addInvalid(at.Child("expirationSeconds"), *seconds, "expected %d to %d", minTokenSeconds, maxTokenSeconds)
	}
	f.requireValue(at.Child("path"), t.Path, "expected a path in the volume")
	f.checkSubPath(at.Child("path"), t.Path)
	f.checkPathHasNoReservedPrefix(at.Child("path"), t.Path)
	if spec.ServiceAccountName == "" {
		f.onlyIfRead(field.NewPath("spec", "serviceAccountName")).addForbidden(at, "expected none without serviceAccountName")
	}
}
