package podsync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// knowsContainers reports whether the runtime has a record of a container of a UID.
func (s *Syncer) knowsContainers(uid types.UID) (bool, error) {
	status, err := s.look(context.Background(), uid)
	if err != nil {
		return false, err
	}
	return len(status.Containers) > 0, nil
}

// removeForeignRecords removes what previous incarnations of the UID have left in the runtime, once
// none of their containers runs, and reports whether no container of them is left. The volumes of a
// pod of another name are discarded only after that. Garbage collection would keep the newest record
// of each container, since the UID is desired.
func (s *Syncer) removeForeignRecords(ctx context.Context, v *syncPass) bool {
	status, err := s.look(ctx, v.pod.UID)
	if err != nil {
		return false
	}
	for _, id := range plan.FormerSandboxes(status, v.incarnation.number) {
		if s.removeSandbox(ctx, v, id, string(plan.WhyPreviousIncarnation)) != nil {
			return false
		}
	}
	status, err = s.look(ctx, v.pod.UID)
	return err == nil && len(status.Containers) == 0
}
