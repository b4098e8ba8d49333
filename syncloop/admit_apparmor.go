package syncloop

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// AdmitAppArmor returns a handler that refuses a pod with an AppArmor profile if enabled is false: the host cannot
// enforce the profile. The profile Unconfined needs no AppArmor. If enabled is true, the handler
// refuses a Localhost profile without a name. It admits a pod that is Running or has terminated, because the pod was
// admitted before a restart of the agent.
func AdmitAppArmor(enabled bool) PodAdmitHandler {
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		if phase := attrs.Pod.Status.Phase; phase != "" && phase != v1.PodPending {
			return admitted
		}
		if isConfined(podspec.PodAppArmor(attrs.Pod)) && !enabled {
			return refusedByAppArmor("spec", notEnabledOnHost)
		}
		for c := range podspec.AllAndEphemeralContainers(attrs.Pod) {
			profile := podspec.AppArmor(attrs.Pod, c)
			field := "spec.containers{" + c.Name + "}"
			switch {
			case !isConfined(profile):
			case !enabled:
				return refusedByAppArmor(field, notEnabledOnHost)
			case profile.Type == v1.AppArmorProfileTypeLocalhost && (profile.LocalhostProfile == nil || strings.TrimSpace(*profile.LocalhostProfile) == ""):
				return refusedByAppArmor(field, "the AppArmor profile of the container "+c.Name+" has type Localhost and no name")
			}
		}
		return admitted
	})
}

// notEnabledOnHost is the kubelet's message about a host without AppArmor.
const notEnabledOnHost = "AppArmor is not enabled on the host"

// isConfined reports whether a profile is set and is not Unconfined.
func isConfined(profile *v1.AppArmorProfile) bool {
	return profile != nil && profile.Type != v1.AppArmorProfileTypeUnconfined
}

// refusedByAppArmor returns a refusal with the kubelet's reason and the start of the kubelet's message. owner is the path
// of the pod spec or of the container with the profile.
func refusedByAppArmor(owner, why string) PodAdmitResult {
	return Refused(allocation.Reason{
		Kind: allocation.KindUnsupportedField, Reason: "AppArmor", Field: owner + ".securityContext.appArmorProfile", Message: "Cannot enforce AppArmor: " + why,
	})
}
