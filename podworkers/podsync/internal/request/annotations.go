package request

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// withoutEffect are annotations that Kubernetes once honoured and an API server warns of, with
// the reason.
var withoutEffect = map[string]string{
	"scheduler.alpha.kubernetes.io/critical-pod":  "it has had no effect since Kubernetes 1.16: set priorityClassName",
	"security.alpha.kubernetes.io/sysctls":        "it has had no effect since Kubernetes 1.11: set spec.securityContext.sysctls",
	"security.alpha.kubernetes.io/unsafe-sysctls": "it has had no effect since Kubernetes 1.11: set spec.securityContext.sysctls",
}

// annotations looks for those that are meant to restrict the pod and do not.
func (u *unsupported) annotations() {
	for _, key := range slices.Sorted(maps.Keys(u.of.Annotations)) {
		why, known := withoutEffect[key]
		u.ignore(known, annotationPath(key), why)
		if name, ok := strings.CutPrefix(key, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix); ok {
			u.appArmorAnnotation(key, name)
		}
	}
	for _, key := range podspec.SeccompAnnotations(u.of) {
		u.seccompAnnotation(key)
	}
}

func annotationPath(key string) string { return "metadata.annotations[" + key + "]" }

func (u *unsupported) appArmorAnnotation(key, name string) {
	value := u.of.Annotations[key]
	c := podspec.FindContainer(podspec.AllAndEphemeralContainers(u.of), name)
	switch {
	case c == nil:
		u.ignore(true, annotationPath(key), "the pod has no container of this name")
	case podspec.ParseAppArmor(value) == nil:
		u.ignore(value != "", annotationPath(key), "it names no profile")
	}
}

// seccompAnnotation looks at one of a pod, whose value another profile may stand for.
func (u *unsupported) seccompAnnotation(key string) {
	var c *v1.Container
	if name, ok := strings.CutPrefix(key, v1.SeccompContainerAnnotationKeyPrefix); ok {
		c = podspec.FindContainer(podspec.AllAndEphemeralContainers(u.of), name)
	}
	wanted, used := podspec.ParseSeccomp(u.of.Annotations[key]), podspec.Seccomp(u.of, c)
	switch {
	case wanted == nil:
		u.ignore(true, annotationPath(key), "it names no profile")
	case seccomp(wanted) == seccomp(used):
	case podspec.IsFromManifest(u.of):
		u.ignore(true, annotationPath(key), "the field seccompProfile stands")
	default:
		u.ignore(true, annotationPath(key), "it has had no effect since Kubernetes 1.27: set the field seccompProfile")
	}
}
