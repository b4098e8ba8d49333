package cri

import (
	"context"
	"fmt"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// Events implements runtime.EventSource. A runtime without event stream returns ErrUnsupported at
// once on each call, so that a later call works after an upgrade. The times of events are for
// display only.
func (r *Runtime) Events(ctx context.Context, sink func(runtime.Event)) error {
	const verb = "GetContainerEvents"
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cri: %s: %w", verb, err)
	}
	if err := r.ensureHandshake(ctx); err != nil {
		return err
	}
	stream, err := r.runtime.GetContainerEvents(ctx, &cri.GetEventsRequest{})
	for err == nil {
		var message *cri.ContainerEventResponse
		if message, err = stream.Recv(); err != nil {
			break
		}
		event, mine := convert.Event(message, r.cfg.Owner)
		if event.UID == "" { // The sandbox was removed; the cache may still have its pod.
			event.UID = r.records.podUID(message.GetContainerId())
		}
		if mine && event.UID != "" {
			sink(event)
		}
	}
	return r.translateError(ctx, verb, err)
}
