package executor_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/internal/executor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is when every bottle of these tests begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// bottle makes a scheduler with one process, which is crashed at the end of
// the test so that nothing stays parked.
func bottle(t testing.TB, seed uint64) (*executor.Scheduler, *executor.Process) {
	s := executor.NewScheduler(seed, start)
	p := s.NewProcess()
	t.Cleanup(p.Crash)
	return s, p
}

// inBottle runs f as a coroutine and everything it starts, for a day.
func inBottle(t testing.TB, f func(s *executor.Scheduler, p *executor.Process)) {
	s, p := bottle(t, 1)
	ended := false
	p.Go(func() {
		f(s, p)
		ended = true
	})
	s.RunUntil(start.Add(24 * time.Hour))
	if !ended {
		t.Fatal("the program in the bottle did not end")
	}
}
