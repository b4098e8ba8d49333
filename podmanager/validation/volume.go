package validation

import (
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkVolumesAndCollectNames checks the volumes of a pod, and returns the set of their names.
func (f *findings) checkVolumesAndCollectNames(volumes []v1.Volume, at *field.Path) map[string]bool {
	seen, names := map[string]int{}, map[string]bool{}
	for i := range volumes {
		v, at := &volumes[i], at.Index(i)
		f.requireName(at.Child("name"), v.Name, dnsLabelFormat)
		f.checkUniqueOrStoreName(at.Child("name"), v.Name, seen, i, "volumes")
		names[v.Name] = true
		f.requireExactlyOne(at, "a source", jsonNamesOfSetFields(v.VolumeSource))
		f.checkVolume(&v.VolumeSource, at)
	}
	return names
}

// jsonNamesOfSetFields returns the JSON names of those fields of a struct that are not nil. All fields must be
// pointers or the like.
func jsonNamesOfSetFields(union any) map[string]bool {
	v, set := reflect.ValueOf(union), map[string]bool{}
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			set[jsonName(v.Type().Field(i))] = true
		}
	}
	return set
}

// checkVolume checks the volume sources that a node can provide without an API server: hostPath, emptyDir,
// downward API, projected, NFS and image. It ignores other sources.
func (f *findings) checkVolume(v *v1.VolumeSource, at *field.Path) {
	if v.HostPath != nil {
		f.checkHostPath(v.HostPath, at.Child("hostPath"))
	}
	if v.EmptyDir != nil {
		f.checkEmptyDir(v.EmptyDir, at.Child("emptyDir"))
	}
	if v.DownwardAPI != nil {
		f.checkFileMode(at.Child("downwardAPI", "defaultMode"), v.DownwardAPI.DefaultMode)
		f.checkDownwardFiles(v.DownwardAPI.Items, at.Child("downwardAPI", "items"))
	}
	if v.Projected != nil {
		f.checkProjected(v.Projected, at.Child("projected"))
	}
	if v.NFS != nil {
		f.checkNFS(v.NFS, at.Child("nfs"))
	}
	if v.Image != nil {
		f.checkImage(at.Child("image", "reference"), v.Image.Reference)
		checkOneOf(f, at.Child("image", "pullPolicy"), v.Image.PullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)
	}
}

func (f *findings) checkEmptyDir(e *v1.EmptyDirVolumeSource, at *field.Path) {
	if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
		f.addInvalid(at.Child("sizeLimit"), e.SizeLimit, "expected zero or more")
	}
	medium := string(e.Medium)
	if e.Medium != v1.StorageMediumDefault && e.Medium != v1.StorageMediumMemory &&
		e.Medium != v1.StorageMediumHugePages && !strings.HasPrefix(medium, string(v1.StorageMediumHugePagesPrefix)) {
		f.addNotSupported(at.Child("medium"), medium, "expected nothing, Memory or HugePages")
	}
}

func (f *findings) checkNFS(n *v1.NFSVolumeSource, at *field.Path) {
	if n.Server == "" {
		f.addRequired(at.Child("server"), "expected a host name or address")
	}
	if !strings.HasPrefix(n.Path, "/") {
		f.addInvalid(at.Child("path"), n.Path, "expected an absolute path")
	}
}

func (f *findings) checkHostPath(h *v1.HostPathVolumeSource, at *field.Path) {
	if h.Path == "" {
		f.addRequired(at.Child("path"), "expected a path on the host")
	} else if hasParentElement(h.Path) {
		f.addInvalid(at.Child("path"), h.Path, "expected a path without '..'")
	}
	if h.Type != nil {
		checkOneOf(f, at.Child("type"), *h.Type, v1.HostPathUnset, v1.HostPathDirectoryOrCreate, v1.HostPathDirectory,
			v1.HostPathFileOrCreate, v1.HostPathFile, v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev)
	}
}

func (f *findings) checkProjected(p *v1.ProjectedVolumeSource, at *field.Path) {
	f.checkFileMode(at.Child("defaultMode"), p.DefaultMode)
	for i, s := range p.Sources {
		at := at.Child("sources").Index(i)
		f.requireExactlyOne(at, "a source", jsonNamesOfSetFields(s))
		if s.DownwardAPI != nil {
			f.checkDownwardFiles(s.DownwardAPI.Items, at.Child("downwardAPI", "items"))
		}
	}
}

// checkDownwardFiles checks the files of a downward API volume: each needs a path within the volume, a valid
// mode, and a pod field or a resource as its one source.
func (f *findings) checkDownwardFiles(files []v1.DownwardAPIVolumeFile, at *field.Path) {
	for i, file := range files {
		at := at.Index(i)
		if file.Path == "" {
			f.addRequired(at.Child("path"), "expected a path in the volume")
		}
		f.checkSubPath(at.Child("path"), file.Path)
		f.checkFileMode(at.Child("mode"), file.Mode)
		f.requireExactlyOne(at, "a source", map[string]bool{
			"fieldRef": file.FieldRef != nil, "resourceFieldRef": file.ResourceFieldRef != nil,
		})
		f.checkFieldRef(file.FieldRef, at.Child("fieldRef"), fileDownwardFields)
		f.checkResourceFieldRef(file.ResourceFieldRef, at.Child("resourceFieldRef"))
	}
}

func (f *findings) checkFileMode(at *field.Path, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		f.addInvalid(at, *mode, "expected 0 to 511 (0777)")
	}
}

// jsonName returns the name of a struct field in its json tag.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// The fields of a pod that the downward API can provide: to environment variables, to files,
// and, with a key such as metadata.labels['app'], to both.
var (
	commonDownwardFields = []string{"metadata.name", "metadata.namespace", "metadata.uid"}
	envDownwardFields    = append([]string{"spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}, commonDownwardFields...)
	fileDownwardFields  = append([]string{"metadata.labels", "metadata.annotations"}, commonDownwardFields...)
	keyedDownwardFields = []string{"metadata.labels", "metadata.annotations"}
)

// checkFieldRef adds an error if a fieldRef names neither an allowed field nor one label or annotation, or has
// another apiVersion than v1. A nil ref is allowed.
func (f *findings) checkFieldRef(ref *v1.ObjectFieldSelector, at *field.Path, allowed []string) {
	if ref == nil {
		return
	}
	if ref.APIVersion != "v1" {
		f.addNotSupported(at.Child("apiVersion"), ref.APIVersion, "expected v1")
	}
	name, rest, keyed := strings.Cut(ref.FieldPath, "['")
	if keyed {
		key, ends := strings.CutSuffix(rest, "']")
		if ends && slices.Contains(keyedDownwardFields, name) && len(qualifiedNameFormat.validate(strings.ToLower(key))) == 0 {
			return
		}
	} else if slices.Contains(allowed, ref.FieldPath) {
		return
	}
	f.addNotSupported(at.Child("fieldPath"), ref.FieldPath, "expected one of %s, metadata.labels['key'], metadata.annotations['key']",
		strings.Join(allowed, ", "))
}

// downwardResources are the resources that the downward API can provide, as limits and requests.
var downwardResources = []string{"cpu", "memory", "ephemeral-storage"}

func (f *findings) checkResourceFieldRef(ref *v1.ResourceFieldSelector, at *field.Path) {
	if ref == nil {
		return
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	if kind != "limits" && kind != "requests" || !slices.Contains(downwardResources, name) && !isHugePages(v1.ResourceName(name)) {
		f.addNotSupported(at.Child("resource"), ref.Resource, "expected limits. or requests. and one of %s, hugepages-...",
			strings.Join(downwardResources, ", "))
	}
}
