package runtimetest

import (
	"time"

	"github.com/podkeel/podkeel/internal/executor"
)

// stopping is a StopContainer that somebody else waits for.
type stopping struct {
	executor.Latch
	err error // once open
}

// stopping stops a container concurrently and returns when that has begun.
func (b *bench) stopping(id string, grace time.Duration) *stopping {
	s := &stopping{Latch: b.executor.NewLatch()}
	b.others.Go(func() {
		s.err = b.stop(id, grace)
		s.Open()
	})
	b.sleep(500 * time.Millisecond)
	return s
}
