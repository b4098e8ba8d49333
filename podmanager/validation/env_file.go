package validation

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/podspec"
)

// checkEnvFiles checks the environment variables of all containers that come from a file (fileKeyRef). The file
// must be in an emptyDir volume of the pod.
func (f *findings) checkEnvFiles(spec *v1.PodSpec, at *field.Path) {
	volumes := podspec.NewIndex(spec.Volumes, func(v *v1.Volume) string { return v.Name })
	for i := range spec.InitContainers {
		f.checkContainerEnvFiles(&volumes, spec.InitContainers[i].Env, at.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		f.checkContainerEnvFiles(&volumes, spec.Containers[i].Env, at.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		f.checkContainerEnvFiles(&volumes, spec.EphemeralContainers[i].Env, at.Child("ephemeralContainers").Index(i))
	}
}

func (f *findings) checkContainerEnvFiles(volumes *podspec.Index[v1.Volume], env []v1.EnvVar, at *field.Path) {
	for i := range env {
		if from := env[i].ValueFrom; from != nil && from.FileKeyRef != nil {
			f.checkFileKeyRef(volumes, from.FileKeyRef, at.Child("env").Index(i).Child("valueFrom", "fileKeyRef"))
		}
	}
}

func (f *findings) checkFileKeyRef(volumes *podspec.Index[v1.Volume], ref *v1.FileKeySelector, at *field.Path) {
	f.requireName(at.Child("key"), ref.Key, envNameFormat)
	if ref.Path == "" {
		f.addRequired(at.Child("path"), "expected a path in the volume")
	} else {
		f.checkSubPath(at.Child("path"), ref.Path)
		if first, _, _ := strings.Cut(ref.Path, "/"); first != ".." && strings.HasPrefix(first, "..") {
			f.addInvalid(at.Child("path"), ref.Path, "expected a path that does not begin with '..'")
		}
	}
	f.requireName(at.Child("volumeName"), ref.VolumeName, dnsLabelFormat)
	if ref.VolumeName == "" {
		return
	}
	all := field.NewPath("spec", "volumes")
	switch v := volumes.Find(ref.VolumeName, 0); {
	case v == nil:
		f.onlyIfRead(all).addNotFound(at.Child("volumeName"), ref.VolumeName, "the pod has no volume of this name")
	case v.EmptyDir == nil && v.VolumeSource != (v1.VolumeSource{}): // A volume without a source is an emptyDir.
		f.onlyIfRead(all).addInvalid(at.Child("volumeName"), ref.VolumeName, "expected an emptyDir volume")
	}
}
