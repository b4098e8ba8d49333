package cri

import (
	"context"
	"fmt"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// Events implements runtime.EventSource. A runtime without a stream returns
// ErrUnsupported at once, each time it is asked: a later call finds out about an
// upgrade. Times of events are for people only.
func (r *Runtime) Events(ctx context.Context, sink func(runtime.Event)) error {
	const verb = "GetContainerEvents"
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cri: %s: %w", verb, err)
	}
	if err := r.greet(ctx); err != nil {
		return err
	}
	stream, err := r.runtime.GetContainerEvents(ctx, &cri.GetEventsRequest{})
	for err == nil {
		var message *cri.ContainerEventResponse
		if message, err = stream.Recv(); err != nil {
			break
		}
		event, mine := convert.Event(message, r.cfg.Owner)
		if event.UID == "" { // The sandbox is gone; we may remember whose it was.
			event.UID = r.records.owner(message.GetContainerId())
		}
		if mine && event.UID != "" {
			sink(event)
		}
	}
	return r.failed(ctx, verb, err)
}
