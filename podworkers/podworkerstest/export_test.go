package podworkerstest

import "time"

// StallAfter makes a step count as blocked after d in real time.
func (s *Stepper) StallAfter(d time.Duration) { s.scheduler.Guard(d, s.failTestForStall) }

// Resume waits for the blocked step and continues.
func (s *Stepper) Resume() { s.scheduler.Resume() }
