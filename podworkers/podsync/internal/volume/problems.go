package volume

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Problem is a field of a pod that is not supported.
type Problem struct{ Field, Why string }

// Features are optional kinds of volumes that the caller supports: Tokens of service accounts, and
// volumes of Claims.
type Features struct{ Tokens, Claims bool }

// Problems returns the volumes and mounts of a pod that are not supported.
func Problems(pod *v1.Pod, features Features) []Problem {
	f := problemFinder{features: features}
	f.addProblemIfError("metadata.uid", CheckPathElement(string(pod.UID)))
	names := make(map[string]bool, len(pod.Spec.Volumes))
	for i := range pod.Spec.Volumes {
		v, at := &pod.Spec.Volumes[i], fmt.Sprintf("spec.volumes[%d]", i)
		f.addProblemIfError(at+".name", CheckPathElement(v.Name))
		if names[v.Name] {
			f.addProblem(at+".name", "there is another volume %q", v.Name)
		}
		names[v.Name] = true
		f.checkVolume(pod, v, at)
	}
	for i := range pod.Spec.InitContainers {
		f.checkContainerMounts(&pod.Spec.InitContainers[i], names, fmt.Sprintf("spec.initContainers[%d]", i))
	}
	for i := range pod.Spec.Containers {
		f.checkContainerMounts(&pod.Spec.Containers[i], names, fmt.Sprintf("spec.containers[%d]", i))
	}
	for i := range pod.Spec.EphemeralContainers {
		c := v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		f.checkContainerMounts(&c, names, fmt.Sprintf("spec.ephemeralContainers[%d]", i))
	}
	return f.found
}

// problemFinder collects problems.
type problemFinder struct {
	found    []Problem
	features Features
}

// addProblemIfError adds the text of err as a problem of a field. It does nothing if err is nil.
func (f *problemFinder) addProblemIfError(field string, err error) {
	if err != nil {
		f.found = append(f.found, Problem{field, err.Error()})
	}
}

// addProblem adds a problem of a field with a formatted text.
func (f *problemFinder) addProblem(field, format string, args ...any) {
	f.found = append(f.found, Problem{field, fmt.Sprintf(format, args...)})
}

// checkVolume adds the problems of one volume of the pod. A volume of an unsupported kind is one problem.
func (f *problemFinder) checkVolume(pod *v1.Pod, v *v1.Volume, field string) {
	kind := KindOf(v)
	field += "." + string(kind)
	switch {
	case kind == EmptyDir:
		f.checkEmptyDir(v.EmptyDir, field)
	case kind == HostPath:
		f.checkHostPath(v.HostPath, field)
	case kind.HasFiles():
		for i, s := range sourcesOf(v) {
			f.checkSource(pod, s, sourceFieldPath(kind, field, i))
		}
		f.checkMode(field+".defaultMode", defaultModeOf(v))
	case kind.IsClaim() && f.features.Claims, kind == Image:
	default:
		f.addProblem(strings.TrimSuffix(field, "."+string(kind)), "volume %q is of the kind %s, which is not supported", v.Name, kind)
	}
}

// sourceFieldPath returns the field path of one source of a volume: "field.sources[index]" for a projected
// volume, and field for any other volume.
func sourceFieldPath(kind Kind, field string, index int) string {
	if kind != Projected {
		return field
	}
	return fmt.Sprintf("%s.sources[%d]", field, index)
}

// checkEmptyDir adds a problem if the medium of an emptyDir is unknown, and another problem if its sizeLimit is
// negative. It does nothing if e is nil.
func (f *problemFinder) checkEmptyDir(e *v1.EmptyDirVolumeSource, field string) {
	if e == nil {
		return
	}
	if _, err := mediumPageSize(e.Medium); err != nil {
		f.addProblemIfError(field+".medium", err)
	} else if e.Medium != v1.StorageMediumDefault && e.Medium != v1.StorageMediumMemory && !IsHugePages(e.Medium) {
		f.addProblem(field+".medium", "%q is not supported", string(e.Medium))
	}
	if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
		f.addProblem(field+".sizeLimit", "%s is negative", e.SizeLimit.String())
	}
}

// hostPathTypes are the valid types of a hostPath.
var hostPathTypes = []v1.HostPathType{
	v1.HostPathUnset, v1.HostPathDirectoryOrCreate, v1.HostPathDirectory, v1.HostPathFileOrCreate,
	v1.HostPathFile, v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev,
}

// checkHostPath adds a problem if the path of a hostPath volume is not absolute, contains an element "..", or
// contains a NUL byte. It adds another problem if the type of the volume is unknown.
func (f *problemFinder) checkHostPath(h *v1.HostPathVolumeSource, field string) {
	switch {
	case !strings.HasPrefix(h.Path, "/"):
		f.addProblem(field+".path", "%q is not absolute", h.Path)
	case hasDotDot(h.Path):
		f.addProblem(field+".path", "%q has '..'", h.Path)
	case strings.IndexByte(h.Path, 0) >= 0:
		f.addProblem(field+".path", "%q has a NUL byte", h.Path)
	}
	if h.Type != nil && !slices.Contains(hostPathTypes, *h.Type) {
		f.addProblem(field+".type", "%q is not known", string(*h.Type))
	}
}

// checkSource adds the problems of one source of a volume's files: its number of kinds, an unsupported kind,
// and invalid paths, modes and downward API references of its items.
func (f *problemFinder) checkSource(pod *v1.Pod, s v1.VolumeProjection, field string) {
	set := nonNilFieldNames(s)
	if len(set) != 1 {
		f.addProblem(field, "it has %d sources, not one", len(set))
		return
	}
	if s.ServiceAccountToken != nil && f.features.Tokens {
		_, err := cleanFilePath(s.ServiceAccountToken.Path)
		f.addProblemIfError(field+".serviceAccountToken.path", err)
		return
	}
	if s.ConfigMap == nil && s.Secret == nil && s.DownwardAPI == nil {
		f.addProblem(field+"."+set[0], "is not supported")
		return
	}
	for i, item := range itemsOfSource(s) {
		field := fmt.Sprintf("%s.items[%d]", field, i)
		_, err := cleanFilePath(item.Path)
		f.addProblemIfError(field+".path", err)
		f.checkMode(field+".mode", item.Mode)
	}
	if s.DownwardAPI != nil {
		for i := range s.DownwardAPI.Items {
			_, err := downwardAPIFileContent(pod, &s.DownwardAPI.Items[i], nil)
			f.addProblemIfError(fmt.Sprintf("%s.items[%d]", field, i), err)
		}
	}
}

// itemsOfSource returns the items of a ConfigMap, Secret or downward API source. Downward API items have only a
// path and a mode. A source of another kind has no items.
func itemsOfSource(s v1.VolumeProjection) []v1.KeyToPath {
	switch {
	case s.ConfigMap != nil:
		return s.ConfigMap.Items
	case s.Secret != nil:
		return s.Secret.Items
	case s.DownwardAPI == nil:
		return nil
	}
	var items []v1.KeyToPath
	for _, file := range s.DownwardAPI.Items {
		items = append(items, v1.KeyToPath{Path: file.Path, Mode: file.Mode})
	}
	return items
}

// checkMode adds a problem if a file mode is set and not between 0 and 0777.
func (f *problemFinder) checkMode(field string, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		f.addProblem(field, "%d is not between 0 and 0777", *mode)
	}
}

// checkContainerMounts adds the problems of a container's volumeMounts: unknown volumes, invalid or duplicate
// mountPaths, and invalid options. Any volumeDevices are a problem too, because they are not supported.
func (f *problemFinder) checkContainerMounts(c *v1.Container, volumeNames map[string]bool, field string) {
	taken := make(map[string]int, len(c.VolumeMounts))
	for i := range c.VolumeMounts {
		m, field := &c.VolumeMounts[i], fmt.Sprintf("%s.volumeMounts[%d]", field, i)
		if !volumeNames[m.Name] {
			f.addProblem(field+".name", "the pod has no volume %q", m.Name)
		}
		p, err := cleanMountPath(m.MountPath)
		f.addProblemIfError(field+".mountPath", err)
		if first, ok := taken[p]; ok && err == nil {
			f.addProblem(field+".mountPath", "volumeMounts[%d] is mounted at %s, too", first, p)
		} else {
			taken[p] = i
		}
		f.checkMount(c, m, field)
	}
	if len(c.VolumeDevices) > 0 {
		f.addProblem(field+".volumeDevices", "block devices are not supported")
	}
}

// checkMount adds the problems of subPath, subPathExpr, mountPropagation and recursiveReadOnly in one
// volumeMount. Bidirectional propagation is a problem for a container that is not privileged.
func (f *problemFinder) checkMount(c *v1.Container, m *v1.VolumeMount, field string) {
	_, err := CleanSubPath(m.SubPath)
	f.addProblemIfError(field+".subPath", err)
	_, err = CleanSubPath(m.SubPathExpr)
	f.addProblemIfError(field+".subPathExpr", err)
	if m.SubPath != "" && m.SubPathExpr != "" {
		f.addProblem(field+".subPathExpr", "there is a subPath, too")
	}
	_, err = convertMountPropagation(m)
	f.addProblemIfError(field+".mountPropagation", err)
	if m.MountPropagation != nil && *m.MountPropagation == v1.MountPropagationBidirectional && !isPrivileged(c) {
		f.addProblem(field+".mountPropagation", "Bidirectional is for privileged containers")
	}
	_, err = convertRecursiveReadOnly(m)
	f.addProblemIfError(field+".recursiveReadOnly", err)
}

// isPrivileged reports whether the security context of a container sets privileged to true.
func isPrivileged(c *v1.Container) bool {
	return c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
}
