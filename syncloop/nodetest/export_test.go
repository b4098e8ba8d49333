package nodetest

import "time"

// StallAfter has a step counted as stopped after d.
func (b *Simulation) StallAfter(d time.Duration) { b.scheduler.Guard(d, b.failTestForStall) }

// Resume ends what StallAfter has noticed.
func (b *Simulation) Resume() { b.scheduler.Resume() }
