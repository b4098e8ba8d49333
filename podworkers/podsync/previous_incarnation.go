package podsync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// hasContainerRecords asks the runtime whether it has any container with the pod UID, in any state.
func (s *Syncer) hasContainerRecords(uid types.UID) (bool, error) {
	status, err := s.inspectPod(context.Background(), uid)
	if err != nil {
		return false, err
	}
	return len(status.Containers) > 0, nil
}

// removeRecordsOfPreviousIncarnations removes from the runtime the sandboxes of former pods with this UID, with
// their containers. noneLeft reports whether the runtime then has no container with the UID; only then may the
// volumes of a former pod be removed. It is false after any error.
func (p *syncPass) removeRecordsOfPreviousIncarnations(ctx context.Context) (noneLeft bool) {
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
