package request

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// annotationsWithoutEffect has the annotations that Kubernetes no longer honours and that an API server
// warns about, with the reason.
var annotationsWithoutEffect = map[string]string{
	"scheduler.alpha.kubernetes.io/critical-pod":  "it has had no effect since Kubernetes 1.16: set priorityClassName",
	"security.alpha.kubernetes.io/sysctls":        "it has had no effect since Kubernetes 1.11: set spec.securityContext.sysctls",
	"security.alpha.kubernetes.io/unsafe-sysctls": "it has had no effect since Kubernetes 1.11: set spec.securityContext.sysctls",
}

// ignoreAnnotationsWithoutEffect adds to ignored each annotation of the pod that has no effect on this node.
// These are the annotations of a known list, and seccomp or AppArmor annotations with an invalid or overridden
// profile.
func (u *unsupportedFields) ignoreAnnotationsWithoutEffect() {
	for _, key := range slices.Sorted(maps.Keys(u.checkedPod.Annotations)) {
		why, known := annotationsWithoutEffect[key]
		u.ignoreIf(known, annotationPath(key), why)
		if name, ok := strings.CutPrefix(key, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix); ok {
			u.ignoreAppArmorAnnotationIfUnused(key, name)
		}
	}
	for _, key := range podspec.SeccompAnnotations(u.checkedPod) {
		u.ignoreSeccompAnnotationIfUnused(key)
	}
}

// annotationPath returns "metadata.annotations[key]", the field path of an annotation for messages.
func annotationPath(key string) string { return "metadata.annotations[" + key + "]" }

// ignoreAppArmorAnnotationIfUnused adds an AppArmor annotation to ignored if the pod has no container with the
// name in its key. It also adds the annotation if its value is neither empty nor a valid profile.
func (u *unsupportedFields) ignoreAppArmorAnnotationIfUnused(key, name string) {
	value := u.checkedPod.Annotations[key]
	c := podspec.FindContainer(podspec.AllAndEphemeralContainers(u.checkedPod), name)
	switch {
	case c == nil:
		u.ignoreIf(true, annotationPath(key), "the pod has no container of this name")
	case podspec.ParseAppArmor(value) == nil:
		u.ignoreIf(value != "", annotationPath(key), "it names no profile")
	}
}

// ignoreSeccompAnnotationIfUnused adds a seccomp annotation to ignored if its value is not a valid profile. It
// also adds the annotation if the pod or container runs with another profile.
func (u *unsupportedFields) ignoreSeccompAnnotationIfUnused(key string) {
	var c *v1.Container
	if name, ok := strings.CutPrefix(key, v1.SeccompContainerAnnotationKeyPrefix); ok {
		c = podspec.FindContainer(podspec.AllAndEphemeralContainers(u.checkedPod), name)
	}
	wanted, used := podspec.ParseSeccomp(u.checkedPod.Annotations[key]), podspec.Seccomp(u.checkedPod, c)
	switch {
	case wanted == nil:
		u.ignoreIf(true, annotationPath(key), "it names no profile")
	case seccompProfile(wanted) == seccompProfile(used):
	case podspec.IsFromManifest(u.checkedPod):
		u.ignoreIf(true, annotationPath(key), "the field seccompProfile takes precedence")
	default:
		u.ignoreIf(true, annotationPath(key), "it has had no effect since Kubernetes 1.27: set the field seccompProfile")
	}
}
