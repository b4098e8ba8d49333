package nodetest

import "time"

// StallAfter has a step counted as stopped after d.
func (b *Bottle) StallAfter(d time.Duration) { b.scheduler.Guard(d, b.stalled) }

// Resume ends what StallAfter has noticed.
func (b *Bottle) Resume() { b.scheduler.Resume() }
