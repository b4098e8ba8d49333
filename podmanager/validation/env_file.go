package validation

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/podspec"
)

// envFiles checks the variables of all containers that come from files: the files are in an
// emptyDir volume of the pod.
func (f *findings) envFiles(spec *v1.PodSpec, at *field.Path) {
	volumes := podspec.NewIndex(spec.Volumes, func(v *v1.Volume) string { return v.Name })
	for i := range spec.InitContainers {
		f.envFilesOf(&volumes, spec.InitContainers[i].Env, at.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		f.envFilesOf(&volumes, spec.Containers[i].Env, at.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		f.envFilesOf(&volumes, spec.EphemeralContainers[i].Env, at.Child("ephemeralContainers").Index(i))
	}
}

func (f *findings) envFilesOf(volumes *podspec.Index[v1.Volume], env []v1.EnvVar, at *field.Path) {
	for i := range env {
		if from := env[i].ValueFrom; from != nil && from.FileKeyRef != nil {
			f.fileKeyRef(volumes, from.FileKeyRef, at.Child("env").Index(i).Child("valueFrom", "fileKeyRef"))
		}
	}
}

func (f *findings) fileKeyRef(volumes *podspec.Index[v1.Volume], ref *v1.FileKeySelector, at *field.Path) {
	f.named(at.Child("key"), ref.Key, envName)
	if ref.Path == "" {
		f.required(at.Child("path"), "expected a path in the volume")
	} else {
		f.subPath(at.Child("path"), ref.Path)
		if first, _, _ := strings.Cut(ref.Path, "/"); first != ".." && strings.HasPrefix(first, "..") {
			f.invalid(at.Child("path"), ref.Path, "expected a path that does not begin with '..'")
		}
	}
	f.named(at.Child("volumeName"), ref.VolumeName, dnsLabel)
	if ref.VolumeName == "" {
		return
	}
	all := field.NewPath("spec", "volumes")
	switch v := volumes.Find(ref.VolumeName, 0); {
	case v == nil:
		f.ifRead(all).notFound(at.Child("volumeName"), ref.VolumeName, "the pod has no volume of this name")
	case v.EmptyDir == nil && v.VolumeSource != (v1.VolumeSource{}): // The latter is an emptyDir by default.
		f.ifRead(all).invalid(at.Child("volumeName"), ref.VolumeName, "expected an emptyDir volume")
	}
}
