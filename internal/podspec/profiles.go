package podspec

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// sourceAnnotation and apiSource are podmanager.ConfigSourceAnnotation and ApiserverSource.
const (
	sourceAnnotation = "kubernetes.io/config.source"
	apiSource        = "api"
)

// IsFromManifest reports whether a pod comes from a manifest, and so has not passed an API server.
func IsFromManifest(pod *v1.Pod) bool {
	source := pod.Annotations[sourceAnnotation]
	return source != "" && source != apiSource
}

// AppArmor returns the AppArmor profile that a container runs with: the container's own, or the
// profile of the pod's annotation for it, or the pod's. It is nil if there is none. An annotation
// with an invalid value is ignored.
func AppArmor(pod *v1.Pod, c *v1.Container) *v1.AppArmorProfile {
	if own := c.SecurityContext; own != nil && own.AppArmorProfile != nil {
		return own.AppArmorProfile
	}
	if value, ok := pod.Annotations[v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name]; ok {
		if profile := ParseAppArmor(value); profile != nil {
			return profile
		}
	}
	return PodAppArmor(pod)
}

// PodAppArmor is the profile of containers that have none of their own, or nil.
func PodAppArmor(pod *v1.Pod) *v1.AppArmorProfile {
	if whole := pod.Spec.SecurityContext; whole != nil {
		return whole.AppArmorProfile
	}
	return nil
}

// ParseAppArmor is the profile that the value of an AppArmor annotation names, or nil if it
// names none.
func ParseAppArmor(value string) *v1.AppArmorProfile {
	name, local := strings.CutPrefix(value, v1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch {
	case value == v1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}
	case value == v1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeUnconfined}
	case local:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
	}
	return nil
}

// SetAppArmor writes the profiles of annotations into the containers that have none of their
// own, as an API server does for a new pod: they hold for the life of the pod then.
func SetAppArmor(pod *v1.Pod) {
	for c := range AllAndEphemeralContainers(pod) {
		profile, whole := AppArmor(pod, c), PodAppArmor(pod)
		if profile == nil || profile == whole || whole != nil && profile.Type == whole.Type && EqualText(profile.LocalhostProfile, whole.LocalhostProfile) {
			continue
		}
		if c.SecurityContext == nil {
			c.SecurityContext = &v1.SecurityContext{}
		}
		c.SecurityContext.AppArmorProfile = profile
	}
}

// EqualText reports whether both texts are nil, or equal.
func EqualText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// Seccomp returns the seccomp profile that a container runs with, or, for nil, the sandbox of the
// pod: the container's own, or the pod's. A pod of a manifest without either has the profile of its
// annotations. It is nil if there is none.
func Seccomp(pod *v1.Pod, c *v1.Container) *v1.SeccompProfile {
	if c != nil && c.SecurityContext != nil && c.SecurityContext.SeccompProfile != nil {
		return c.SecurityContext.SeccompProfile
	}
	if whole := pod.Spec.SecurityContext; whole != nil && whole.SeccompProfile != nil {
		return whole.SeccompProfile
	}
	if !IsFromManifest(pod) {
		return nil
	}
	if c != nil {
		if value, ok := pod.Annotations[v1.SeccompContainerAnnotationKeyPrefix+c.Name]; ok {
			return ParseSeccomp(value)
		}
	}
	return ParseSeccomp(pod.Annotations[v1.SeccompPodAnnotationKey])
}

// ParseSeccomp is the profile that the value of a seccomp annotation names, or nil if it names
// none.
func ParseSeccomp(value string) *v1.SeccompProfile {
	name, local := strings.CutPrefix(value, v1.SeccompLocalhostProfileNamePrefix)
	switch {
	case value == v1.SeccompProfileRuntimeDefault || value == v1.DeprecatedSeccompProfileDockerDefault:
		return &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}
	case value == v1.SeccompProfileNameUnconfined:
		return &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined}
	case local:
		return &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost, LocalhostProfile: &name}
	}
	return nil
}

// SeccompAnnotations are the keys of the seccomp annotations that a pod has for itself and for its
// containers.
func SeccompAnnotations(pod *v1.Pod) (keys []string) {
	if _, ok := pod.Annotations[v1.SeccompPodAnnotationKey]; ok {
		keys = append(keys, v1.SeccompPodAnnotationKey)
	}
	for c := range AllAndEphemeralContainers(pod) {
		if _, ok := pod.Annotations[v1.SeccompContainerAnnotationKeyPrefix+c.Name]; ok {
			keys = append(keys, v1.SeccompContainerAnnotationKeyPrefix+c.Name)
		}
	}
	return keys
}
