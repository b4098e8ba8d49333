package podsync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// knowsContainers reports whether the runtime has a record of a container of a UID.
func (s *Syncer) knowsContainers(uid types.UID) (bool, error) {
	status, err := s.inspectPod(context.Background(), uid)
	if err != nil {
		return false, err
	}
	return len(status.Containers) > 0, nil
}

// removeForeignRecords removes what previous incarnations of the UID have left in the runtime, once
// none of their containers runs, and reports whether no container of them is left. The volumes of a
// pod of another name are discarded only after that. Garbage collection would keep the newest record
// of each container, since the UID is desired.
func (p *syncPass) removeForeignRecords(ctx context.Context) bool {
	status, err := p.inspectPod(ctx, p.pod.UID)
	if err != nil {
		return false
	}
	for _, id := range plan.FormerSandboxes(status, p.incarnation.number) {
		if p.removeSandbox(ctx, id, string(plan.WhyPreviousIncarnation)) != nil {
			return false
		}
	}
	status, err = p.inspectPod(ctx, p.pod.UID)
	return err == nil && len(status.Containers) == 0
}
