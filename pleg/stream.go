package pleg

import (
	"context"
	"errors"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// The pause before a broken stream is opened again doubles from minBackoff to maxBackoff. It starts
// at minBackoff again once a stream was open for streamTrustedAfter. An event does not shorten the
// pause: a stream may deliver one each time it is opened, and break. The pause between the
// inspections of unknown pods has the same limits.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
	// unsupportedPause is the pause for a runtime without an event stream. The runtime may be
	// replaced by one that has a stream; until then each attempt is an error in the runtime's log.
	unsupportedPause = time.Minute
)

// keepStreamOpen opens the event stream again, after a pause, whenever it ends, until the PLEG stops. If the
// runtime has no event stream, it checks again after unsupportedPause.
func (p *PLEG) keepStreamOpen(ctx context.Context) {
	pause := minBackoff
	for {
		source := p.features.Features().EventSource
		if source == nil {
			if p.executor.Sleep(ctx, unsupportedPause) != nil {
				return
			}
			continue
		}
		p.recordStreamOpen()
		err := source.Events(ctx, p.recordEventAndRequestInspection)
		lasted := p.recordStreamEndAndWake()
		if ctx.Err() != nil || isInterrupted(ctx, err) {
			return
		}
		if lasted {
			pause = minBackoff
		}
		wait := pause
		if errors.Is(err, runtime.ErrUnsupported) {
			wait = unsupportedPause
		}
		p.logAndReportStreamEnd(err, pause == minBackoff, wait)
		if p.executor.Sleep(ctx, wait) != nil {
			return
		}
		pause = min(2*pause, maxBackoff)
	}
}

// recordEventAndRequestInspection records that the event stream works, requests an inspection of the pod that
// the event names, if any, and wakes the loop. The rest of the event is not used (F65, F66).
func (p *PLEG) recordEventAndRequestInspection(event runtime.Event) {
	now := p.executor.Now()
	p.mu.Lock()
	p.mu.schedule.eventReceived = true
	if event.UID != "" {
		p.mu.table.requestInspectionOrExtraList(event.UID, now)
	}
	p.mu.Unlock()
	p.wake.Signal()
}

// recordStreamOpen records that the event stream is opened now and has delivered no event yet. Events replace
// frequent listings only after a listing that begins later has succeeded.
func (p *PLEG) recordStreamOpen() {
	now := p.executor.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &p.mu.schedule
	r.streamOpen, r.streamOpenedAt, r.eventReceived, r.streamListMark = true, now, false, p.mu.table.number
}

// recordStreamEndAndWake records that the event stream has ended, and wakes the loop, because frequent listings are
// necessary again. It reports whether the stream was open for streamTrustedAfter; whether it delivered events
// does not matter.
func (p *PLEG) recordStreamEndAndWake() (lasted bool) {
	now := p.executor.Now()
	p.mu.Lock()
	r := &p.mu.schedule
	lasted = now.Sub(r.streamOpenedAt) >= streamTrustedAfter
	r.streamOpen = false
	p.mu.Unlock()
	p.wake.Signal()
	return lasted
}

// logAndReportStreamEnd calls Hooks.StreamEnded. If first is true, it also logs the end of the stream; a
// runtime without an event stream is logged as information, another end as a warning.
func (p *PLEG) logAndReportStreamEnd(err error, first bool, retryIn time.Duration) {
	switch {
	case !first:
	case errors.Is(err, runtime.ErrUnsupported):
		p.cfg.Log.Info("the runtime has no event stream; its pods are listed instead", "err", err)
	default:
		p.cfg.Log.Warn("the event stream of the runtime has ended; it will be opened again", "err", err)
	}
	p.cfg.Hooks.StreamEnded(err, retryIn)
}
