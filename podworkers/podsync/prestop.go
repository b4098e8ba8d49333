package podsync

import (
	"context"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
)

// preStop tells a container that it is about to be stopped, if it wants to be
// told, has not been told in this kill, and has time for it (KC-12). A hook that
// fails changes nothing; its error says that the call was told to stop.
func (s *Syncer) preStop(ctx context.Context, v *syncPass, t *target) error {
	if t.PreStop == nil || t.kill.told || !s.executor.Now().Before(t.kill.by) {
		return nil
	}
	t.kill.told = true
	err := s.hook(ctx, v, RunPreStopHook, hook{
		purpose: runtime.PreStopHook, handler: t.PreStop, id: t.id, name: t.name, ports: t.Ports, by: t.kill.by,
	})
	failed, ok := contain.AsType[*hookFailure](err)
	if !ok {
		return err
	}
	s.warn(v, t.name, eventPreStop, "The PreStop hook of container %s failed: %s", t.name, failed)
	return nil
}
