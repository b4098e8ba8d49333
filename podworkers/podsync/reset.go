package podsync

import (
	"context"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// reset ends the containers of a pod and drops their records, so that all of
// them begin anew in the same sandbox. The records go in the order given: those
// that are the reason go last, and a crash in the middle leaves it to the next
// sync (CA-21).
func (s *Syncer) reset(ctx context.Context, v *syncPass, all []plan.Kill) error {
	var alive []plan.Kill
	for _, k := range all {
		if v.state(k.ID).MayRun() {
			alive = append(alive, k)
		}
	}
	if err := s.killSome(ctx, v, alive); err != nil {
		return err
	}
	for _, k := range all {
		if err := s.removeContainer(ctx, v, k.ID, string(k.Why)); err != nil {
			return err
		}
	}
	return nil
}

// state is what a container of the sync pass was seen in; unknown if there is none.
func (v *syncPass) state(id string) runtime.State {
	if rec := v.record(id); rec != nil {
		return rec.State
	}
	return runtime.StateUnknown
}
