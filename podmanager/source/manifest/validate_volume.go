package manifest

import (
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// volumes checks the volumes of a pod and returns their names.
func (f *findings) volumes(volumes []v1.Volume, at *fieldPath) map[string]bool {
	seen, names := map[string]int{}, map[string]bool{}
	for i := range volumes {
		v, at := &volumes[i], at.at(i)
		f.named(at.field("name"), v.Name, dnsLabel)
		f.unique(at.field("name"), v.Name, seen, i, "volumes")
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
func (f *findings) volume(v *v1.VolumeSource, at *fieldPath) {
	if v.HostPath != nil {
		f.hostPath(v.HostPath, at.field("hostPath"))
	}
	if v.EmptyDir != nil {
		f.emptyDir(v.EmptyDir, at.field("emptyDir"))
	}
	if v.DownwardAPI != nil {
		f.mode(at.fields("downwardAPI", "defaultMode"), v.DownwardAPI.DefaultMode)
		f.files(v.DownwardAPI.Items, at.fields("downwardAPI", "items"))
	}
	if v.Projected != nil {
		f.projected(v.Projected, at.field("projected"))
	}
	if v.NFS != nil {
		f.nfs(v.NFS, at.field("nfs"))
	}
	if v.Image != nil {
		f.image(at.fields("image", "reference"), v.Image.Reference)
	}
}

func (f *findings) emptyDir(e *v1.EmptyDirVolumeSource, at *fieldPath) {
	if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
		f.add(at.field("sizeLimit"), "%s: expected zero or more", e.SizeLimit)
	}
	medium := string(e.Medium)
	if e.Medium != v1.StorageMediumDefault && e.Medium != v1.StorageMediumMemory &&
		e.Medium != v1.StorageMediumHugePages && !strings.HasPrefix(medium, string(v1.StorageMediumHugePagesPrefix)) {
		f.add(at.field("medium"), "%s: expected nothing, Memory or HugePages", quote(medium))
	}
}

func (f *findings) nfs(n *v1.NFSVolumeSource, at *fieldPath) {
	if n.Server == "" {
		f.add(at.field("server"), "missing: expected a host name or address")
	}
	if !strings.HasPrefix(n.Path, "/") {
		f.add(at.field("path"), "%s: expected an absolute path", quote(n.Path))
	}
}

func (f *findings) hostPath(h *v1.HostPathVolumeSource, at *fieldPath) {
	switch {
	case h.Path == "":
		f.add(at.field("path"), "missing: expected a path on the host")
	case upwards(h.Path):
		f.add(at.field("path"), "%s: expected a path without '..'", quote(h.Path))
	}
	if h.Type != nil {
		oneOf(f, at.field("type"), *h.Type, v1.HostPathUnset, v1.HostPathDirectoryOrCreate, v1.HostPathDirectory,
			v1.HostPathFileOrCreate, v1.HostPathFile, v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev)
	}
}

func (f *findings) projected(p *v1.ProjectedVolumeSource, at *fieldPath) {
	f.mode(at.field("defaultMode"), p.DefaultMode)
	for i, s := range p.Sources {
		at := at.field("sources").at(i)
		f.exactlyOne(at, "a source", given(s))
		if s.DownwardAPI != nil {
			f.files(s.DownwardAPI.Items, at.fields("downwardAPI", "items"))
		}
	}
}

// files checks what the downward API writes: every path within the volume.
func (f *findings) files(files []v1.DownwardAPIVolumeFile, at *fieldPath) {
	for i, file := range files {
		at := at.at(i)
		if file.Path == "" {
			f.add(at.field("path"), "missing: expected a path in the volume")
		}
		f.subPath(at.field("path"), file.Path)
		f.mode(at.field("mode"), file.Mode)
		f.exactlyOne(at, "a source", map[string]bool{
			"fieldRef": file.FieldRef != nil, "resourceFieldRef": file.ResourceFieldRef != nil,
		})
		f.fieldRef(file.FieldRef, at.field("fieldRef"), fileFields)
		f.resourceFieldRef(file.ResourceFieldRef, at.field("resourceFieldRef"))
	}
}

func (f *findings) mode(at *fieldPath, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		f.add(at, "%d: expected 0 to 511 (0777)", *mode)
	}
}
