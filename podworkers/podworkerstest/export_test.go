package podworkerstest

import "time"

// StallAfter has a step counted as stopped after d in real time.
func (s *Stepper) StallAfter(d time.Duration) { s.scheduler.Guard(d, s.failOnStall) }

// Resume ends what StallAfter has noticed.
func (s *Stepper) Resume() { s.scheduler.Resume() }
