package validation

import (
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumes checks the volumes of a pod and returns their names.
func (f *findings) volumes(volumes []v1.Volume, at *field.Path) map[string]bool {
	seen, names := map[string]int{}, map[string]bool{}
	for i := range volumes {
		v, at := &volumes[i], at.Index(i)
		f.named(at.Child("name"), v.Name, dnsLabel)
		f.unique(at.Child("name"), v.Name, seen, i, "volumes")
		names[v.Name] = true
		f.exactlyOne(at, "a source", given(v.VolumeSource))
		f.volume(&v.VolumeSource, at)
	}
	return names
}

// given has the fields of a struct of pointers that are set. There are thirty
// sources of volumes, too many to list.
func given(union any) map[string]bool {
	v, set := reflect.ValueOf(union), map[string]bool{}
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			set[jsonName(v.Type().Field(i))] = true
		}
	}
	return set
}

// volume checks the sources that a lone node can have.
func (f *findings) volume(v *v1.VolumeSource, at *field.Path) {
	if v.HostPath != nil {
		f.hostPath(v.HostPath, at.Child("hostPath"))
	}
	if v.EmptyDir != nil {
		f.emptyDir(v.EmptyDir, at.Child("emptyDir"))
	}
	if v.DownwardAPI != nil {
		f.mode(at.Child("downwardAPI", "defaultMode"), v.DownwardAPI.DefaultMode)
		f.files(v.DownwardAPI.Items, at.Child("downwardAPI", "items"))
	}
	if v.Projected != nil {
		f.projected(v.Projected, at.Child("projected"))
	}
	if v.NFS != nil {
		f.nfs(v.NFS, at.Child("nfs"))
	}
	if v.Image != nil {
		f.image(at.Child("image", "reference"), v.Image.Reference)
		oneOf(f, at.Child("image", "pullPolicy"), v.Image.PullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)
	}
}

func (f *findings) emptyDir(e *v1.EmptyDirVolumeSource, at *field.Path) {
	if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
		f.invalid(at.Child("sizeLimit"), e.SizeLimit, "expected zero or more")
	}
	medium := string(e.Medium)
	if e.Medium != v1.StorageMediumDefault && e.Medium != v1.StorageMediumMemory &&
		e.Medium != v1.StorageMediumHugePages && !strings.HasPrefix(medium, string(v1.StorageMediumHugePagesPrefix)) {
		f.unsupported(at.Child("medium"), medium, "expected nothing, Memory or HugePages")
	}
}

func (f *findings) nfs(n *v1.NFSVolumeSource, at *field.Path) {
	if n.Server == "" {
		f.required(at.Child("server"), "expected a host name or address")
	}
	if !strings.HasPrefix(n.Path, "/") {
		f.invalid(at.Child("path"), n.Path, "expected an absolute path")
	}
}

func (f *findings) hostPath(h *v1.HostPathVolumeSource, at *field.Path) {
	if h.Path == "" {
		f.required(at.Child("path"), "expected a path on the host")
	} else if upwards(h.Path) {
		f.invalid(at.Child("path"), h.Path, "expected a path without '..'")
	}
	if h.Type != nil {
		oneOf(f, at.Child("type"), *h.Type, v1.HostPathUnset, v1.HostPathDirectoryOrCreate, v1.HostPathDirectory,
			v1.HostPathFileOrCreate, v1.HostPathFile, v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev)
	}
}

func (f *findings) projected(p *v1.ProjectedVolumeSource, at *field.Path) {
	f.mode(at.Child("defaultMode"), p.DefaultMode)
	for i, s := range p.Sources {
		at := at.Child("sources").Index(i)
		f.exactlyOne(at, "a source", given(s))
		if s.DownwardAPI != nil {
			f.files(s.DownwardAPI.Items, at.Child("downwardAPI", "items"))
		}
	}
}

// files checks what the downward API writes: every path within the volume.
func (f *findings) files(files []v1.DownwardAPIVolumeFile, at *field.Path) {
	for i, file := range files {
		at := at.Index(i)
		if file.Path == "" {
			f.required(at.Child("path"), "expected a path in the volume")
		}
		f.subPath(at.Child("path"), file.Path)
		f.mode(at.Child("mode"), file.Mode)
		f.exactlyOne(at, "a source", map[string]bool{
			"fieldRef": file.FieldRef != nil, "resourceFieldRef": file.ResourceFieldRef != nil,
		})
		f.fieldRef(file.FieldRef, at.Child("fieldRef"), fileFields)
		f.resourceFieldRef(file.ResourceFieldRef, at.Child("resourceFieldRef"))
	}
}

func (f *findings) mode(at *field.Path, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		f.invalid(at, *mode, "expected 0 to 511 (0777)")
	}
}

// jsonName is the name of a struct's field in a manifest.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// What a pod can tell its own containers: the fields that an environment
// variable can be, those that a file can be, and those with a key, such as
// metadata.labels['app'], which both can be.
var (
	bothFields = []string{"metadata.name", "metadata.namespace", "metadata.uid"}
	envFields  = append([]string{"spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}, bothFields...)
	fileFields = append([]string{"metadata.labels", "metadata.annotations"}, bothFields...)
	keyFields  = []string{"metadata.labels", "metadata.annotations"}
)

// fieldRef wants a field that can be told in one of the two ways.
func (f *findings) fieldRef(ref *v1.ObjectFieldSelector, at *field.Path, allowed []string) {
	if ref == nil {
		return
	}
	if ref.APIVersion != "v1" {
		f.unsupported(at.Child("apiVersion"), ref.APIVersion, "expected v1")
	}
	name, rest, keyed := strings.Cut(ref.FieldPath, "['")
	if keyed {
		key, ends := strings.CutSuffix(rest, "']")
		if ends && slices.Contains(keyFields, name) && len(qualifiedName.complaints(strings.ToLower(key))) == 0 {
			return
		}
	} else if slices.Contains(allowed, ref.FieldPath) {
		return
	}
	f.unsupported(at.Child("fieldPath"), ref.FieldPath, "expected one of %s, metadata.labels['key'], metadata.annotations['key']",
		strings.Join(allowed, ", "))
}

// resourceFields are the resources that can be told, as limits and requests.
var resourceFields = []string{"cpu", "memory", "ephemeral-storage"}

func (f *findings) resourceFieldRef(ref *v1.ResourceFieldSelector, at *field.Path) {
	if ref == nil {
		return
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	if kind != "limits" && kind != "requests" || !slices.Contains(resourceFields, name) && !hugePages(v1.ResourceName(name)) {
		f.unsupported(at.Child("resource"), ref.Resource, "expected limits. or requests. and one of %s, hugepages-...",
			strings.Join(resourceFields, ", "))
	}
}
