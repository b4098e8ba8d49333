package plan

import (
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// HashAnnotation is the annotation of a container that carries the SpecHash it
// was created with.
const HashAnnotation = "podkeel.dev/spec-hash"

// hashV1 covers name and image. A later library that covers more gets a new
// prefix and goes on to understand this one, so that an upgrade restarts
// nothing.
const hashV1 = "v1-"

// SpecHash is the fingerprint of what forces a container to be restarted when
// it changes: its name and image, and nothing else.
func SpecHash(c *v1.Container) string {
	return hashV1 + strconv.FormatUint(sumV1(c), 16)
}

// hashChanged reports whether a container was created from a spec that has
// changed since. A container without a hash, or with one of a version we do
// not know, has not: somebody else's way of counting is no reason to restart.
func hashChanged(rec *runtime.ContainerStatus, c *v1.Container) bool {
	digits, ok := strings.CutPrefix(rec.Annotations[HashAnnotation], hashV1)
	if !ok {
		return false
	}
	sum, err := strconv.ParseUint(digits, 16, 64)
	return err == nil && sum != sumV1(c)
}

// sumV1 covers name and image.
func sumV1(c *v1.Container) uint64 {
	return uint64(newSum().add(c.Name).add(c.Image))
}

// PodHashAnnotation is the annotation of a sandbox that carries the PodHash of
// the pod it was made for.
const PodHashAnnotation = "podkeel.dev/pod-hash"

// PodHash is the fingerprint of what can not change during a pod's life: the
// names, commands and arguments of its containers, in their order. It is
// versioned like SpecHash.
func PodHash(pod *v1.Pod) string {
	return hashV1 + strconv.FormatUint(podSumV1(pod), 16)
}

// IsAnothers reports whether the newest sandbox of a life was made for a pod
// of the same UID but of another shape: one that was replaced while nobody was
// there to see it. A sandbox that does not say is taken for the pod's own.
func IsAnothers(status *runtime.PodStatus, life uint64, pod *v1.Pod) bool {
	var newest *runtime.SandboxStatus
	for i := range status.Sandboxes {
		s := &status.Sandboxes[i]
		if s.Incarnation == life && (newest == nil || s.Attempt > newest.Attempt) {
			newest = s
		}
	}
	if newest == nil {
		return false
	}
	digits, ok := strings.CutPrefix(newest.Annotations[PodHashAnnotation], hashV1)
	if !ok {
		return false
	}
	sum, err := strconv.ParseUint(digits, 16, 64)
	return err == nil && sum != podSumV1(pod)
}

func podSumV1(pod *v1.Pod) uint64 {
	h := newSum()
	for _, containers := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			h = h.add(containers[i].Name).addAll(containers[i].Command).addAll(containers[i].Args)
		}
		h = h.add("")
	}
	return uint64(h)
}

// sum is FNV-1a over strings with a zero byte after each. It depends on nothing
// but them, least of all on a Go type, so that no upgrade changes it.
type sum uint64

const prime = 1099511628211

func newSum() sum { return 14695981039346656037 }

func (h sum) add(s string) sum {
	for i := range len(s) {
		h = (h ^ sum(s[i])) * prime
	}
	return h * prime
}

func (h sum) addAll(list []string) sum {
	for _, s := range list {
		h = h.add(s)
	}
	return h.add("")
}
