package volume

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Problem is a field of a pod because of which it cannot be run.
type Problem struct{ Field, Why string }

// Features is what else can be had: Tokens of service accounts, volumes of Claims.
type Features struct{ Tokens, Claims bool }

// Problems names the volumes of a pod, and the mounts, that cannot be had.
func Problems(pod *v1.Pod, features Features) []Problem {
	f := finder{features: features}
	f.add("metadata.uid", Element(string(pod.UID)))
	names := make(map[string]bool, len(pod.Spec.Volumes))
	for i := range pod.Spec.Volumes {
		v, at := &pod.Spec.Volumes[i], fmt.Sprintf("spec.volumes[%d]", i)
		f.add(at+".name", Element(v.Name))
		if names[v.Name] {
			f.addf(at+".name", "there is another volume %q", v.Name)
		}
		names[v.Name] = true
		f.volume(pod, v, at)
	}
	for i := range pod.Spec.InitContainers {
		f.container(&pod.Spec.InitContainers[i], names, fmt.Sprintf("spec.initContainers[%d]", i))
	}
	for i := range pod.Spec.Containers {
		f.container(&pod.Spec.Containers[i], names, fmt.Sprintf("spec.containers[%d]", i))
	}
	for i := range pod.Spec.EphemeralContainers {
		c := v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		f.container(&c, names, fmt.Sprintf("spec.ephemeralContainers[%d]", i))
	}
	return f.found
}

// finder collects problems.
type finder struct {
	found    []Problem
	features Features
}

func (f *finder) add(field string, err error) {
	if err != nil {
		f.found = append(f.found, Problem{field, err.Error()})
	}
}

func (f *finder) addf(field, format string, args ...any) {
	f.found = append(f.found, Problem{field, fmt.Sprintf(format, args...)})
}

func (f *finder) volume(pod *v1.Pod, v *v1.Volume, at string) {
	kind := Of(v)
	at += "." + string(kind)
	switch {
	case kind == EmptyDir:
		f.emptyDir(v.EmptyDir, at)
	case kind == HostPath:
		f.hostPath(v.HostPath, at)
	case kind.HasFiles():
		for i, s := range sources(v) {
			f.source(pod, s, sourceField(kind, at, i))
		}
		f.mode(at+".defaultMode", defaultMode(v))
	case kind.Claimed() && f.features.Claims, kind == Image:
	default:
		f.addf(strings.TrimSuffix(at, "."+string(kind)), "volume %q is of the kind %s, which cannot be had here", v.Name, kind)
	}
}

// sourceField is where the i-th source of a volume is written.
func sourceField(kind Kind, at string, i int) string {
	if kind != Projected {
		return at
	}
	return fmt.Sprintf("%s.sources[%d]", at, i)
}

func (f *finder) emptyDir(e *v1.EmptyDirVolumeSource, at string) {
	if e == nil {
		return
	}
	if _, err := mediumPageSize(e.Medium); err != nil {
		f.add(at+".medium", err)
	} else if e.Medium != v1.StorageMediumDefault && e.Medium != v1.StorageMediumMemory && !IsHugePages(e.Medium) {
		f.addf(at+".medium", "%q cannot be had here", string(e.Medium))
	}
	if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
		f.addf(at+".sizeLimit", "%s is negative", e.SizeLimit.String())
	}
}

// hostPathTypes are what can be asked of a path of the host.
var hostPathTypes = []v1.HostPathType{
	v1.HostPathUnset, v1.HostPathDirectoryOrCreate, v1.HostPathDirectory, v1.HostPathFileOrCreate,
	v1.HostPathFile, v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev,
}

func (f *finder) hostPath(h *v1.HostPathVolumeSource, at string) {
	switch {
	case !strings.HasPrefix(h.Path, "/"):
		f.addf(at+".path", "%q is not absolute", h.Path)
	case upwards(h.Path):
		f.addf(at+".path", "%q has '..'", h.Path)
	case strings.IndexByte(h.Path, 0) >= 0:
		f.addf(at+".path", "%q has a NUL byte", h.Path)
	}
	if h.Type != nil && !slices.Contains(hostPathTypes, *h.Type) {
		f.addf(at+".type", "%q is not known", string(*h.Type))
	}
}

// source checks one source of files, which is all of most volumes.
func (f *finder) source(pod *v1.Pod, s v1.VolumeProjection, at string) {
	set := given(s)
	if len(set) != 1 {
		f.addf(at, "it has %d sources, not one", len(set))
		return
	}
	if s.ServiceAccountToken != nil && f.features.Tokens {
		_, err := fileBelow(s.ServiceAccountToken.Path)
		f.add(at+".serviceAccountToken.path", err)
		return
	}
	if s.ConfigMap == nil && s.Secret == nil && s.DownwardAPI == nil {
		f.addf(at+"."+set[0], "cannot be had here")
		return
	}
	for i, item := range itemsOf(s) {
		at := fmt.Sprintf("%s.items[%d]", at, i)
		_, err := fileBelow(item.Path)
		f.add(at+".path", err)
		f.mode(at+".mode", item.Mode)
	}
	if s.DownwardAPI != nil {
		for i := range s.DownwardAPI.Items {
			_, err := told(pod, &s.DownwardAPI.Items[i], nil)
			f.add(fmt.Sprintf("%s.items[%d]", at, i), err)
		}
	}
}

// itemsOf are the keys of a source with their paths; for the downward API,
// without keys.
func itemsOf(s v1.VolumeProjection) []v1.KeyToPath {
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

func (f *finder) mode(field string, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		f.addf(field, "%d is not between 0 and 0777", *mode)
	}
}

// container checks what one container mounts.
func (f *finder) container(c *v1.Container, volumes map[string]bool, at string) {
	taken := make(map[string]int, len(c.VolumeMounts))
	for i := range c.VolumeMounts {
		m, at := &c.VolumeMounts[i], fmt.Sprintf("%s.volumeMounts[%d]", at, i)
		if !volumes[m.Name] {
			f.addf(at+".name", "the pod has no volume %q", m.Name)
		}
		p, err := inContainer(m.MountPath)
		f.add(at+".mountPath", err)
		if first, ok := taken[p]; ok && err == nil {
			f.addf(at+".mountPath", "volumeMounts[%d] is mounted at %s, too", first, p)
		} else {
			taken[p] = i
		}
		f.mount(c, m, at)
	}
	if len(c.VolumeDevices) > 0 {
		f.addf(at+".volumeDevices", "raw devices cannot be had here")
	}
}

// mount checks how something is mounted.
func (f *finder) mount(c *v1.Container, m *v1.VolumeMount, at string) {
	_, err := Below(m.SubPath)
	f.add(at+".subPath", err)
	_, err = Below(m.SubPathExpr)
	f.add(at+".subPathExpr", err)
	if m.SubPath != "" && m.SubPathExpr != "" {
		f.addf(at+".subPathExpr", "there is a subPath, too")
	}
	_, err = propagation(m)
	f.add(at+".mountPropagation", err)
	if m.MountPropagation != nil && *m.MountPropagation == v1.MountPropagationBidirectional && !privileged(c) {
		f.addf(at+".mountPropagation", "Bidirectional is for privileged containers")
	}
	_, err = recursion(m)
	f.add(at+".recursiveReadOnly", err)
}

func privileged(c *v1.Container) bool {
	return c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
}
