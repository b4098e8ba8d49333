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

// sumV1 is FNV-1a over name and image with a zero byte after each.
func sumV1(c *v1.Container) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	sum := uint64(offset)
	for _, s := range [...]string{c.Name, c.Image} {
		for i := range len(s) {
			sum = (sum ^ uint64(s[i])) * prime
		}
		sum *= prime
	}
	return sum
}
