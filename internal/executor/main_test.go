package executor_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/internal/executor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is the time at which every simulation of these tests begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// newSimulation returns a scheduler with one process. The end of the test crashes the process, so that no coroutine
// stays parked.
func newSimulation(t testing.TB, seed uint64) (*executor.Scheduler, *executor.Process) {
	s := executor.NewScheduler(seed, start)
	p := s.NewProcess()
	t.Cleanup(p.Crash)
	return s, p
}

// inSimulation runs f as a coroutine, and everything it starts, for a day.
func inSimulation(t testing.TB, f func(s *executor.Scheduler, p *executor.Process)) {
	s, p := newSimulation(t, 1)
	ended := false
	p.Go(func() {
		f(s, p)
		ended = true
	})
	s.RunUntil(start.Add(24 * time.Hour))
	if !ended {
		t.Fatal("the program in the simulation did not end")
	}
}
