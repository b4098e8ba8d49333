package podsync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// hasContainerRecords reports whether the runtime has a record of a container of a UID.
func (s *Syncer) hasContainerRecords(uid types.UID) (bool, error) {
	status, err := s.inspectPod(context.Background(), uid)
	if err != nil {
		return false, err
	}
	return len(status.Containers) > 0, nil
}

// removeRecordsOfPreviousIncarnations removes the stopped sandboxes of previous incarnations of the
// UID, with their containers. It reports whether the runtime has no container of the UID afterwards.
// Only then may the volumes of a pod with another name be discarded. Garbage collection would not do
// this: it keeps the newest record of each container of a desired UID.
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
