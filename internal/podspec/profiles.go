package podspec

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// sourceAnnotation and apiSource have the values of podmanager.ConfigSourceAnnotation and ApiserverSource.
const (
	sourceAnnotation = "kubernetes.io/config.source"
	apiSource        = "api"
)

// IsFromManifest reports whether a pod comes from a manifest, and so has not passed an API server.
func IsFromManifest(pod *v1.Pod) bool {
	source := pod.Annotations[sourceAnnotation]
	return source != "" && source != apiSource
}

// AppArmor returns the AppArmor profile of a container: its own, or the profile of the pod's annotation for it, or the
// pod's. It is nil if no profile is set. An annotation with an invalid value is ignored.
func AppArmor(pod *v1.Pod, c *v1.Container) *v1.AppArmorProfile {
	if securityContext := c.SecurityContext; securityContext != nil && securityContext.AppArmorProfile != nil {
		return securityContext.AppArmorProfile
	}
	if value, ok := pod.Annotations[v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name]; ok {
		if profile := ParseAppArmor(value); profile != nil {
			return profile
		}
	}
	return PodAppArmor(pod)
}

// PodAppArmor returns the profile of containers without a profile of their own, or nil.
func PodAppArmor(pod *v1.Pod) *v1.AppArmorProfile {
	if securityContext := pod.Spec.SecurityContext; securityContext != nil {
		return securityContext.AppArmorProfile
	}
	return nil
}

// ParseAppArmor returns the profile that the value of an AppArmor annotation names, or nil if the value is invalid.
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

// SetAppArmor copies the profiles of annotations into the containers that have no profile of their own, as an API
// server does for a new pod. Later changes of the annotations have no effect.
func SetAppArmor(pod *v1.Pod) {
	for c := range AllAndEphemeralContainers(pod) {
		profile, podProfile := AppArmor(pod, c), PodAppArmor(pod)
		if profile == nil || profile == podProfile || podProfile != nil && profile.Type == podProfile.Type && EqualText(profile.LocalhostProfile, podProfile.LocalhostProfile) {
			continue
		}
		if c.SecurityContext == nil {
			c.SecurityContext = &v1.SecurityContext{}
		}
		c.SecurityContext.AppArmorProfile = profile
	}
}

// EqualText reports whether both pointers are nil or both texts are equal.
func EqualText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// Seccomp returns the seccomp profile of a container: its own, or the pod's. For a nil container it returns the profile
// of the sandbox. A pod of a manifest without either has the profile of its annotations. The result is nil if no
// profile is set.
func Seccomp(pod *v1.Pod, c *v1.Container) *v1.SeccompProfile {
	if c != nil && c.SecurityContext != nil && c.SecurityContext.SeccompProfile != nil {
		return c.SecurityContext.SeccompProfile
	}
	if podContext := pod.Spec.SecurityContext; podContext != nil && podContext.SeccompProfile != nil {
		return podContext.SeccompProfile
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

// ParseSeccomp returns the profile that the value of a seccomp annotation names, or nil if the value is invalid.
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

// SeccompAnnotations returns the keys of the seccomp annotations that a pod has for itself and for its containers.
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
