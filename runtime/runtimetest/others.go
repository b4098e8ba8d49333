package runtimetest

import (
	"time"

	"github.com/podkeel/podkeel/internal/executor"
)

// pendingStop is a StopContainer that runs in the background.
type pendingStop struct {
	executor.Latch
	err error // valid after the latch is open
}

// stopInBackgroundAndWaitBriefly starts a StopContainer call in the background and waits half a second, but not
// until the call returns. The result gets the error of the call later.
func (b *bench) stopInBackgroundAndWaitBriefly(id string, grace time.Duration) *pendingStop {
	s := &pendingStop{Latch: b.executor.NewLatch()}
	b.background.Go(func() {
		s.err = b.stopContainer(id, grace)
		s.Open()
	})
	b.sleep(500 * time.Millisecond)
	return s
}
