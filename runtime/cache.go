package runtime

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// StatusCache has the newest observation of each pod. Each observation has a number; a
// higher one began later. All methods are called concurrently, and never with a lock held.
// A status is only read; nil is an empty one. An error says that the pod could not be
// observed: the workers do not sync the pod then, and try again; they terminate a pod that
// has to end with the status that Get returns.
type StatusCache interface {
	// Get returns the last observation, without waiting.
	Get(uid types.UID) (*PodStatus, error)
	// Mark is the number of the newest observation that has begun.
	Mark() uint64
	// NewerThan waits until there is an observation of the pod with a higher
	// number than mark, or an error, or ctx ends. A cache that observes nothing answers
	// at once.
	NewerThan(ctx context.Context, uid types.UID, mark uint64) (*PodStatus, error)
}

// RelistRequester is a StatusCache that can be asked to observe a pod soon, and again
// until that succeeds: a pleg.PLEG.
type RelistRequester interface {
	// RequestRelist is called for each pod whose sync failed because the runtime could
	// not be asked, and by callers that have just changed a pod, concurrently, without a
	// lock held. It must not block.
	RequestRelist(uid types.UID)
}
