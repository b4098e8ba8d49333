package podsync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// hasContainerRecords asks the runtime whether it has any container of a UID, running or not.
func (s *Syncer) hasContainerRecords(uid types.UID) (bool, error) {
	status, err := s.inspectPod(context.Background(), uid)
	if err != nil {
		return false, err
	}
	return len(status.Containers) > 0, nil
}

// removeRecordsOfPreviousIncarnations removes the sandboxes of previous incarnations of the UID from the
// runtime, with their containers. It returns true if the runtime has no container of the UID afterwards, and
// false after any error. Only then may the volumes of a pod with another name be removed.
func (p *syncPass) removeRecordsOfPreviousIncarnations(ctx context.Context) bool {
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
