package volumes

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
)

// discarding says whether what another pod has left under a UID may be put aside.
type discarding bool

// GuardDiscards implements podsync.DiscardGuard. Without it a SetUp discards what a pod of another
// name has left under the UID, and asks nothing.
func (d *Dir) GuardDiscards(known func(types.UID) (bool, error)) { d.known = known }

// mayDiscard reports whether what another pod has left under the UID may be put aside: the runtime
// has no container of the UID. It asks the runtime only if there is something of another pod, so the
// caller must not have the lock of the UID.
func (d *Dir) mayDiscard(pod *v1.Pod) (discarding, error) {
	if d.known == nil {
		return true, nil
	}
	dir, err := d.look(pod.UID)
	if err != nil {
		return false, nil // There is nothing to discard, or the caller finds the error.
	}
	defer dir.Close()
	owner := pod.Namespace + "/" + pod.Name
	said, err := ownerOf(dir, owner)
	if err != nil || said == "" || said == owner {
		return false, nil // The same holds here.
	}
	known, err := d.known(pod.UID)
	if err != nil {
		return false, fmt.Errorf("the directory belongs to pod %s, and the containers of its UID cannot be listed: %w", said, err)
	}
	if known {
		return false, fmt.Errorf("%w: the directory belongs to pod %s", podsync.ErrVolumesOfAnotherPod, said)
	}
	return true, nil
}
