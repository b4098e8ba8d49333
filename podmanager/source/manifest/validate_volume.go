package manifest

import (
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/document"
)

// volumes checks the volumes of a pod and returns their names.
func (f *findings) volumes(volumes []v1.Volume, at *document.Path) map[string]bool {
	seen, names := map[string]int{}, map[string]bool{}
	for i := range volumes {
		v, at := &volumes[i], at.At(i)
		f.named(at.Field("name"), v.Name, dnsLabel)
		f.unique(at.Field("name"), v.Name, seen, i, "volumes")
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
			set[document.JSONName(v.Type().Field(i))] = true
		}
	}
	return set
}

// volume checks the sources that a lone node can have.
func (f *findings) volume(v *v1.VolumeSource, at *document.Path) {
	if v.HostPath != nil {
		f.hostPath(v.HostPath, at.Field("hostPath"))
	}
	if v.EmptyDir != nil {
		f.emptyDir(v.EmptyDir, at.Field("emptyDir"))
	}
	if v.DownwardAPI != nil {
		f.mode(at.Fields("downwardAPI", "defaultMode"), v.DownwardAPI.DefaultMode)
		f.files(v.DownwardAPI.Items, at.Fields("downwardAPI", "items"))
	}
	if v.Projected != nil {
		f.projected(v.Projected, at.Field("projected"))
	}
	if v.NFS != nil {
		f.nfs(v.NFS, at.Field("nfs"))
	}
	if v.Image != nil {
		f.image(at.Fields("image", "reference"), v.Image.Reference)
	}
}

func (f *findings) emptyDir(e *v1.EmptyDirVolumeSource, at *document.Path) {
	if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
		f.add(at.Field("sizeLimit"), "%s: expected zero or more", e.SizeLimit)
	}
	medium := string(e.Medium)
	if e.Medium != v1.StorageMediumDefault && e.Medium != v1.StorageMediumMemory &&
		e.Medium != v1.StorageMediumHugePages && !strings.HasPrefix(medium, string(v1.StorageMediumHugePagesPrefix)) {
		f.add(at.Field("medium"), "%s: expected nothing, Memory or HugePages", document.Quote(medium))
	}
}

func (f *findings) nfs(n *v1.NFSVolumeSource, at *document.Path) {
	if n.Server == "" {
		f.add(at.Field("server"), "missing: expected a host name or address")
	}
	if !strings.HasPrefix(n.Path, "/") {
		f.add(at.Field("path"), "%s: expected an absolute path", document.Quote(n.Path))
	}
}

func (f *findings) hostPath(h *v1.HostPathVolumeSource, at *document.Path) {
	switch {
	case h.Path == "":
		f.add(at.Field("path"), "missing: expected a path on the host")
	case upwards(h.Path):
		f.add(at.Field("path"), "%s: expected a path without '..'", document.Quote(h.Path))
	}
	if h.Type != nil {
		oneOf(f, at.Field("type"), *h.Type, v1.HostPathUnset, v1.HostPathDirectoryOrCreate, v1.HostPathDirectory,
			v1.HostPathFileOrCreate, v1.HostPathFile, v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev)
	}
}

func (f *findings) projected(p *v1.ProjectedVolumeSource, at *document.Path) {
	f.mode(at.Field("defaultMode"), p.DefaultMode)
	for i, s := range p.Sources {
		at := at.Field("sources").At(i)
		f.exactlyOne(at, "a source", given(s))
		if s.DownwardAPI != nil {
			f.files(s.DownwardAPI.Items, at.Fields("downwardAPI", "items"))
		}
	}
}

// files checks what the downward API writes: every path within the volume.
func (f *findings) files(files []v1.DownwardAPIVolumeFile, at *document.Path) {
	for i, file := range files {
		at := at.At(i)
		if file.Path == "" {
			f.add(at.Field("path"), "missing: expected a path in the volume")
		}
		f.subPath(at.Field("path"), file.Path)
		f.mode(at.Field("mode"), file.Mode)
		f.exactlyOne(at, "a source", map[string]bool{
			"fieldRef": file.FieldRef != nil, "resourceFieldRef": file.ResourceFieldRef != nil,
		})
		f.fieldRef(file.FieldRef, at.Field("fieldRef"), fileFields)
		f.resourceFieldRef(file.ResourceFieldRef, at.Field("resourceFieldRef"))
	}
}

func (f *findings) mode(at *document.Path, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		f.add(at, "%d: expected 0 to 511 (0777)", *mode)
	}
}
