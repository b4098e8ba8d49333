package podspec

import (
	"cmp"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// ContainerHashAnnotation is the annotation of a container that carries the ContainerHash it
// was created with.
const ContainerHashAnnotation = "podkeel.dev/spec-hash"

// PodHashAnnotation is the annotation of a sandbox that carries the PodHash of
// the pod it was made for.
const PodHashAnnotation = "podkeel.dev/pod-hash"

// A hash begins with its version. A later library that covers more gets a new
// prefix and goes on to understand those before, so that an upgrade restarts
// nothing. Of containers there is the first version only; that of pods did not
// cover restart policies.
const (
	hashV1 = "v1-"
	hashV2 = "v2-"
)

// ContainerHash returns the versioned hash of the fields that force a restart of a container when
// they change: its name and image, and nothing else. The value is written into an annotation of
// the container and outlives the process, so it is part of the format on disk.
func ContainerHash(c *v1.Container) string { return hashV1 + containerSum(c).String() }

// PodHash returns the versioned hash of the fields that cannot change while a pod exists and that
// decide what its records mean: the names, commands and arguments of its containers, in
// their order, and their restart policies, by which an init container is a sidecar
// or has to end.
func PodHash(pod *v1.Pod) string { return hashV2 + policySum(pod, podSum(pod)).String() }

// MatchesPodHash reports whether PodHash can have returned this hash for the pod. A hash of
// another version, or an empty hash, matches every pod.
func MatchesPodHash(pod *v1.Pod, hash string) bool {
	s := podSum(pod)
	return !s.differs(hashV1, hash) && !policySum(pod, s).differs(hashV2, hash)
}

// ContainerHashChanged reports whether the fields of ContainerHash have changed since a hash was
// written. A hash of another version, or an empty hash, counts as unchanged.
func ContainerHashChanged(c *v1.Container, written string) bool {
	return containerSum(c).differs(hashV1, written)
}

func containerSum(c *v1.Container) hashSum { return newHash().add(c.Name).add(c.Image) }

func podSum(pod *v1.Pod) hashSum {
	h := newHash()
	for _, containers := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		h = h.count(len(containers))
		for i := range containers {
			h = h.add(containers[i].Name).addAll(containers[i].Command).addAll(containers[i].Args)
		}
	}
	return h
}

// policySum adds the restart policies of a pod and of its containers to a hashSum. None
// is Always for a pod, and that of the pod for a container.
func policySum(pod *v1.Pod, h hashSum) hashSum {
	policy := pod.Spec.RestartPolicy
	policy = cmp.Or(policy, v1.RestartPolicyAlways)
	h = h.add(string(policy))
	for _, containers := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if own := containers[i].RestartPolicy; own != nil {
				h = h.add(string(*own))
			} else {
				h = h.add("")
			}
			h = h.addRules(containers[i].RestartPolicyRules)
		}
	}
	return h
}

// hashSum is FNV-1a over strings with a zero byte after each. It depends on nothing
// but them, least of all on a Go type, so that no upgrade changes it.
type hashSum uint64

const prime = 1099511628211

func newHash() hashSum { return 14695981039346656037 }

func (h hashSum) add(s string) hashSum {
	for i := range len(s) {
		h = (h ^ hashSum(s[i])) * prime
	}
	return h * prime
}

// addAll adds how many there are first: a word that ends one list must not do
// for one that begins the next.
func (h hashSum) addAll(list []string) hashSum {
	h = h.count(len(list))
	for _, s := range list {
		h = h.add(s)
	}
	return h
}

func (h hashSum) addRules(list []v1.ContainerRestartRule) hashSum {
	h = h.count(len(list))
	for i := range list {
		h = h.add(string(list[i].Action))
		if by := list[i].ExitCodes; by != nil {
			h = h.add(string(by.Operator)).count(len(by.Values))
			for _, code := range by.Values {
				h = h.count(int(code))
			}
		}
	}
	return h
}

func (h hashSum) count(n int) hashSum { return h.add(strconv.Itoa(n)) }

// String is the hash as it is written down, behind its version.
func (h hashSum) String() string { return strconv.FormatUint(uint64(h), 16) }

// differs reports whether a hash that was written down is of that version and
// another one. None at all, or one of another version, is not: somebody else's way of
// counting is no reason to restart anything.
func (h hashSum) differs(version, written string) bool {
	digits, ok := strings.CutPrefix(written, version)
	if !ok || h.is(digits) {
		return false
	}
	then, err := strconv.ParseUint(digits, 16, 64)
	return err == nil && hashSum(then) != h
}

// is reports whether these are its digits as String writes them. There may be
// other ways to write it.
func (h hashSum) is(digits string) bool {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] != "0123456789abcdef"[h%16] {
			return false
		}
		h /= 16
	}
	return h == 0 && digits != ""
}
