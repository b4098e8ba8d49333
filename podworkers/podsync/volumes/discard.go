package volumes

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
)

// discardAllowed is true if the directory of another pod with the same UID may be discarded.
type discardAllowed bool

// GuardDiscards implements podsync.DiscardGuard. If it is not called, SetUp discards the volumes of
// another pod with the same UID without a check.
func (d *Dir) GuardDiscards(known func(types.UID) (bool, error)) { d.hasContainers = known }

// mayDiscard decides whether the directory of a former pod with this UID may be discarded. It returns true if
// the runtime has no container with the UID, or if no such check is configured. It returns false if there is no
// such directory, or if its owner cannot be read. It returns an error if the runtime has a container with the
// UID or does not answer. It may call the runtime, so the caller must not hold the lock of the UID.
func (d *Dir) mayDiscard(pod *v1.Pod) (discardAllowed, error) {
	if d.hasContainers == nil {
		return true, nil
	}
	dir, err := d.openPodSubdir(pod.UID)
	if err != nil {
		return false, nil // There is nothing to discard, or the caller gets the same error.
	}
	defer dir.Close()
	owner := pod.Namespace + "/" + pod.Name
	recordedOwner, err := readOwner(dir, owner)
	if err != nil || recordedOwner == "" || recordedOwner == owner {
		return false, nil // There is nothing to discard, or the caller gets the same error.
	}
	hasContainers, err := d.hasContainers(pod.UID)
	if err != nil {
		return false, fmt.Errorf("the directory belongs to pod %s, and the containers of its UID cannot be listed: %w", recordedOwner, err)
	}
	if hasContainers {
		return false, fmt.Errorf("%w: the directory belongs to pod %s", podsync.ErrVolumesOfAnotherPod, recordedOwner)
	}
	return true, nil
}
