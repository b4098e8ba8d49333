package validation

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// newVolumes checks the sources of volumes.
func (f *findings) newVolumes(spec *v1.PodSpec, at *field.Path) {
	for i := range spec.Volumes {
		v, at := &spec.Volumes[i].VolumeSource, at.Child("volumes").Index(i)
		if s := v.Secret; s != nil {
			at := at.Child("secret")
			f.requireValue(at.Child("secretName"), s.SecretName, "expected the name of a Secret")
			f.mode(at.Child("defaultMode"), s.DefaultMode)
			f.items(s.Items, at.Child("items"))
		}
		if c := v.ConfigMap; c != nil {
			at := at.Child("configMap")
			f.requireValue(at.Child("name"), c.Name, "expected the name of a ConfigMap")
			f.mode(at.Child("defaultMode"), c.DefaultMode)
			f.items(c.Items, at.Child("items"))
		}
		if d := v.DownwardAPI; d != nil {
			f.newFiles(d.Items, at.Child("downwardAPI", "items"))
		}
		if p := v.Projected; p != nil {
			f.projections(spec, p, at.Child("projected"))
		}
		if c := v.PersistentVolumeClaim; c != nil {
			f.requireValue(at.Child("persistentVolumeClaim", "claimName"), c.ClaimName, "expected the name of a claim")
		}
	}
}

// requireValue adds an error if a value is empty.
func (f *findings) requireValue(at *field.Path, value, expected string) {
	if value == "" {
		f.required(at, "%s", expected)
	}
}

// items checks the keys of a volume and their paths.
func (f *findings) items(items []v1.KeyToPath, at *field.Path) {
	for i, item := range items {
		at := at.Index(i)
		f.requireValue(at.Child("key"), item.Key, "expected a key")
		f.requireValue(at.Child("path"), item.Path, "expected a path in the volume")
		f.subPath(at.Child("path"), item.Path)
		f.checkUnreserved(at.Child("path"), item.Path)
		f.mode(at.Child("mode"), item.Mode)
	}
}

// checkUnreserved adds an error for a path that begins with "..": such names are reserved for the
// links by which a volume is updated.
func (f *findings) checkUnreserved(at *field.Path, path string) {
	if strings.HasPrefix(path, "..") && !upwards(path) {
		f.invalid(at, path, "expected a path that does not begin with '..'")
	}
}

func (f *findings) newFiles(files []v1.DownwardAPIVolumeFile, at *field.Path) {
	for i, file := range files {
		at := at.Index(i)
		f.checkUnreserved(at.Child("path"), file.Path)
		if r := file.ResourceFieldRef; r != nil {
			f.requireValue(at.Child("resourceFieldRef", "containerName"), r.ContainerName, "expected the name of a container")
			f.divisor(r, at.Child("resourceFieldRef"))
		}
	}
}

// Bounds of the lifetime of a token, in seconds.
const (
	shortestToken = 10 * 60
	longestToken  = 1 << 32
)

// projections checks the sources of one volume: no two may write one file.
func (f *findings) projections(spec *v1.PodSpec, p *v1.ProjectedVolumeSource, at *field.Path) {
	seen := map[string]*field.Path{}
	file := func(at *field.Path, path string) {
		if path == "" {
			return
		}
		if first, ok := seen[path]; ok {
			f.duplicate(at, path, "%s is the same file", first)
			return
		}
		seen[path] = at
	}
	for i, s := range p.Sources {
		at := at.Child("sources").Index(i)
		if s.Secret != nil {
			f.requireValue(at.Child("secret", "name"), s.Secret.Name, "expected the name of a Secret")
			f.items(s.Secret.Items, at.Child("secret", "items"))
			for i, item := range s.Secret.Items {
				file(at.Child("secret", "items").Index(i).Child("path"), item.Path)
			}
		}
		if s.ConfigMap != nil {
			f.requireValue(at.Child("configMap", "name"), s.ConfigMap.Name, "expected the name of a ConfigMap")
			f.items(s.ConfigMap.Items, at.Child("configMap", "items"))
			for i, item := range s.ConfigMap.Items {
				file(at.Child("configMap", "items").Index(i).Child("path"), item.Path)
			}
		}
		if s.DownwardAPI != nil {
			at := at.Child("downwardAPI", "items")
			f.newFiles(s.DownwardAPI.Items, at)
			for i, item := range s.DownwardAPI.Items {
				file(at.Index(i).Child("path"), item.Path)
			}
		}
		if t := s.ServiceAccountToken; t != nil {
			f.serviceAccountToken(spec, t, at.Child("serviceAccountToken"))
		}
	}
}

func (f *findings) serviceAccountToken(spec *v1.PodSpec, t *v1.ServiceAccountTokenProjection, at *field.Path) {
	if seconds := t.ExpirationSeconds; seconds != nil && (*seconds < shortestToken || *seconds > longestToken) {
		f.invalid(at.Child("expirationSeconds"), *seconds, "expected %d to %d", shortestToken, longestToken)
	}
	f.requireValue(at.Child("path"), t.Path, "expected a path in the volume")
	f.subPath(at.Child("path"), t.Path)
	f.checkUnreserved(at.Child("path"), t.Path)
	if spec.ServiceAccountName == "" {
		f.ifRead(field.NewPath("spec", "serviceAccountName")).forbidden(at, "expected none without serviceAccountName")
	}
}
