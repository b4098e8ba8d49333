package podspec

import (
	"cmp"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// ContainerHashAnnotation is the annotation of a container that holds the ContainerHash it was created with.
const ContainerHashAnnotation = "podkeel.dev/spec-hash"

// PodHashAnnotation is the annotation of a sandbox that holds the PodHash of the pod it was created for.
const PodHashAnnotation = "podkeel.dev/pod-hash"

// A hash begins with its version. A later library that hashes more fields gets a new prefix and still understands the
// older prefixes, so that an upgrade restarts no container. Container hashes have version 1 only. Version 1 of pod
// hashes did not include restart policies.
const (
	hashV1 = "v1-"
	hashV2 = "v2-"
)

// ContainerHash returns the versioned hash of a container's name and image. A change of one of them requires a restart
// of the container. The hash is stored in an annotation of the container and outlives the process, so it must stay the
// same in later versions.
func ContainerHash(c *v1.Container) string { return hashV1 + hashNameAndImage(c).String() }

// PodHash returns the versioned hash of the fields that cannot change while a pod exists and that decide what its
// records mean: the names, commands and arguments of its containers, in order, and their restart policies. The restart
// policy of an init container decides whether it is a sidecar or must terminate.
func PodHash(pod *v1.Pod) string {
	return hashV2 + addRestartPoliciesOrDefaults(pod, hashCommands(pod)).String()
}

// MatchesPodHash reports whether the hash belongs to the pod. An empty hash, or one of an unknown version, matches
// every pod.
func MatchesPodHash(pod *v1.Pod, hash string) bool {
	s := hashCommands(pod)
	return !s.recordedHashDiffers(hashV1, hash) && !addRestartPoliciesOrDefaults(pod, s).recordedHashDiffers(hashV2, hash)
}

// ContainerHashChanged reports whether the name or image of a container has changed since the hash was recorded. An
// empty hash, or one of another version, counts as unchanged.
func ContainerHashChanged(c *v1.Container, recorded string) bool {
	return hashNameAndImage(c).recordedHashDiffers(hashV1, recorded)
}

// hashNameAndImage returns the hash of a container's name and image.
func hashNameAndImage(c *v1.Container) hashSum {
	return newHashSum().addString(c.Name).addString(c.Image)
}

// hashCommands returns the hash of the names, commands and arguments of a pod's init containers and regular
// containers, in order.
func hashCommands(pod *v1.Pod) hashSum {
	h := newHashSum()
	for _, containers := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		h = h.addInt(len(containers))
		for i := range containers {
			h = h.addString(containers[i].Name).addStrings(containers[i].Command).addStrings(containers[i].Args)
		}
	}
	return h
}

// addRestartPoliciesOrDefaults returns sum extended by the restart policies and restart rules of a pod and of
// its init and regular containers. A pod without a policy adds Always. A container without a policy adds an
// empty text.
func addRestartPoliciesOrDefaults(pod *v1.Pod, sum hashSum) hashSum {
	policy := pod.Spec.RestartPolicy
	policy = cmp.Or(policy, v1.RestartPolicyAlways)
	sum = sum.addString(string(policy))
	for _, containers := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if own := containers[i].RestartPolicy; own != nil {
				sum = sum.addString(string(*own))
			} else {
				sum = sum.addString("")
			}
			sum = sum.addRestartRules(containers[i].RestartPolicyRules)
		}
	}
	return sum
}

// hashSum is the FNV-1a sum of strings, with a zero byte after each. It depends on the strings alone and on no Go type,
// so that a new version of Go or of the API does not change it.
type hashSum uint64

const fnvPrime = 1099511628211

// newHashSum returns the initial value of an FNV-1a hash.
func newHashSum() hashSum { return 14695981039346656037 }

// addString returns the FNV-1a hash extended by the bytes of s and a zero byte, which separates s from the next
// string.
func (h hashSum) addString(s string) hashSum {
	for i := range len(s) {
		h = (h ^ hashSum(s[i])) * fnvPrime
	}
	return h * fnvPrime
}

// addStrings returns the hash extended by the length of the list and its strings. Without the length, moving a
// word from the end of one list to the start of the next would not change the hash.
func (h hashSum) addStrings(list []string) hashSum {
	h = h.addInt(len(list))
	for _, s := range list {
		h = h.addString(s)
	}
	return h
}

// addRestartRules returns the hash extended by the number of rules, and the action and the exit codes of each
// rule.
func (h hashSum) addRestartRules(list []v1.ContainerRestartRule) hashSum {
	h = h.addInt(len(list))
	for i := range list {
		h = h.addString(string(list[i].Action))
		if exitCodes := list[i].ExitCodes; exitCodes != nil {
			h = h.addString(string(exitCodes.Operator)).addInt(len(exitCodes.Values))
			for _, code := range exitCodes.Values {
				h = h.addInt(int(code))
			}
		}
	}
	return h
}

// addInt returns the hash extended by the decimal text of a number.
func (h hashSum) addInt(n int) hashSum { return h.addString(strconv.Itoa(n)) }

// String returns the sum in hexadecimal, as it stands behind the version prefix.
func (h hashSum) String() string { return strconv.FormatUint(uint64(h), 16) }

// recordedHashDiffers reports whether the recorded hash has the prefix version and another value than h. It
// returns false for an empty or invalid hash, and for a hash with another prefix. Such a hash does not prove
// that the fields have changed, so it must not restart a container.
func (h hashSum) recordedHashDiffers(version, recorded string) bool {
	digits, ok := strings.CutPrefix(recorded, version)
	if !ok || h.equalsDigits(digits) {
		return false
	}
	recordedSum, err := strconv.ParseUint(digits, 16, 64)
	return err == nil && hashSum(recordedSum) != h
}

// equalsDigits reports whether digits is the text that String returns. It is faster than the parser in
// recordedHashDiffers, which also accepts leading zeros and capital letters.
func (h hashSum) equalsDigits(digits string) bool {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] != "0123456789abcdef"[h%16] {
			return false
		}
		h /= 16
	}
	return h == 0 && digits != ""
}
