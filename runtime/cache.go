package runtime

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// StatusCache returns the newest observed status of each pod. Observations are numbered. An
// observation with a higher number began later. All methods are called concurrently, and never with
// a lock held. The caller does not modify a returned status. Nil is the status of a pod without
// records. An error means that the pod could not be observed. The workers then do not sync the pod
// and retry later. A pod that has to terminate is terminated with the last status that Get
// returned.
type StatusCache interface {
	// Get returns the newest status without waiting.
	Get(uid types.UID) (*PodStatus, error)
	// Mark returns the number of the newest observation that has begun.
	Mark() uint64
	// NewerThan waits until an observation of the pod with a number above mark exists. It also
	// returns when the observation fails or ctx ends. A cache without observations returns at once.
	NewerThan(ctx context.Context, uid types.UID, mark uint64) (*PodStatus, error)
}

// RelistRequester is a StatusCache that can observe a pod on request: a pleg.PLEG. It retries until
// the observation succeeds.
type RelistRequester interface {
	// RequestRelist is called for each pod whose sync failed because the runtime could not be
	// reached, and by callers that have just changed a pod. It is called concurrently, without a
	// lock held. It must not block.
	RequestRelist(uid types.UID)
}
