package pleg

import (
	"context"
	"errors"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// The pause before a broken stream is opened again doubles from minPause to
// maxPause, and begins at its shortest again once a stream has stood for healthyAfter. An event does
// not shorten the pause: a stream may yield one each time it is opened, and break.
const (
	minPause = 100 * time.Millisecond
	maxPause = 5 * time.Second
	// unsupportedPause is that of a runtime that has no stream. It may be
	// replaced by one that has; until then each try is an error in its log.
	unsupportedPause = time.Minute
)

// follow keeps the stream of events open until ctx ends. It never gives up.
func (p *PLEG) follow(ctx context.Context) {
	pause := minPause
	for {
		source := p.features.Features().EventSource
		if source == nil {
			if p.executor.Sleep(ctx, unsupportedPause) != nil {
				return
			}
			continue
		}
		p.streamOpened()
		err := source.Events(ctx, p.hear)
		stood := p.streamEnded()
		if ctx.Err() != nil || interrupted(ctx, err) {
			return
		}
		if stood {
			pause = minPause
		}
		wait := pause
		if errors.Is(err, runtime.ErrUnsupported) {
			wait = unsupportedPause
		}
		p.reportStream(err, pause == minPause, wait)
		if p.executor.Sleep(ctx, wait) != nil {
			return
		}
		pause = min(2*pause, maxPause)
	}
}

// hear is the sink of the stream: an event says which pod to look at, and
// nothing else of it is believed (F65, F66).
func (p *PLEG) hear(event runtime.Event) {
	now := p.executor.Now()
	p.mu.Lock()
	p.mu.rhythm.heard = true
	if event.UID != "" {
		p.mu.table.handleEvent(event.UID, now)
	}
	p.mu.Unlock()
	p.wake.Signal()
}

func (p *PLEG) streamOpened() {
	now := p.executor.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &p.mu.rhythm
	r.open, r.opened, r.heard, r.mark = true, now, false, p.mu.table.number
}

// streamEnded reports whether the stream has stood for long enough. The loop goes back to
// its shorter period, so that what the stream has lost is listed soon.
func (p *PLEG) streamEnded() (stood bool) {
	now := p.executor.Now()
	p.mu.Lock()
	r := &p.mu.rhythm
	stood = now.Sub(r.opened) >= healthyAfter
	r.open = false
	p.mu.Unlock()
	p.wake.Signal()
	return stood
}

// reportStream tells people of the first failure in a row, and hooks of all.
func (p *PLEG) reportStream(err error, first bool, retryIn time.Duration) {
	switch {
	case !first:
	case errors.Is(err, runtime.ErrUnsupported):
		p.cfg.Log.Info("the runtime has no stream of events; it is listed", "err", err)
	default:
		p.cfg.Log.Warn("the runtime's stream of events has ended; it is opened again", "err", err)
	}
	p.cfg.Hooks.StreamEnded(err, retryIn)
}
