package status_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/status"
)

var errDown = errors.New("down")

// ST-44: while the server cannot be reached one status asks whether it is back, with growing
// pauses; then all go at once.
func TestSender_ST44_OneAsksForAll(t *testing.T) {
	s := newSending(t)
	calls, down := 0, true
	s.answer = func(status.Update) error {
		if calls++; down {
			return status.Unavailable(errDown, 0)
		}
		return nil
	}
	s.startSender()
	for i := range 40 {
		s.SetPodStatus(newPod(fmt.Sprint("pod", i)), statusInPhase(v1.PodRunning))
	}
	s.runUntilAfter(500 * time.Millisecond)
	require.Equal(t, status.DefaultSendWorkers, calls, "those that were sent before the first answer")
	s.runUntilAfter(8 * time.Second)
	require.Equal(t, status.DefaultSendWorkers+3, calls, "after 1, 2 and 4 seconds")
	down = false
	s.runUntilAfter(16 * time.Second)
	require.Len(t, s.arrived, 40)
	require.Equal(t, status.DefaultSendWorkers+3+40, calls)
	require.NoError(t, s.stopSender(time.Second))
}

// ST-44: a status that was never sent gets no priority because it has failed together with others.
func TestSender_ST44_FailuresMakeNothingUrgent(t *testing.T) {
	s := newSending(t)
	s.failUpdates(2)
	s.answer = delayAll(s.answer)
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
	s.SetPodStatus(newPod("b"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(200 * time.Millisecond)
	s.SetPodStatus(newPod("b"), readyStatus(v1.ConditionFalse))
	s.runUntilAfter(10 * time.Second)
	require.Equal(t, "1040ms a v1 Running\n1060ms b v2 Running", s.takeUpdates())
	require.NoError(t, s.stopSender(time.Second))
}

// delayAll turns each error into one that delays the statuses of all pods.
func delayAll(answer func(status.Update) error) func(status.Update) error {
	return func(u status.Update) error {
		if err := answer(u); err != nil {
			return status.Unavailable(err, 0)
		}
		return nil
	}
}

// ST-44: a server that asks for time gets it from all pods.
func TestSender_ST44_RetryAfterOfAll(t *testing.T) {
	s := newSending(t)
	first := true
	s.answer = func(status.Update) error {
		if first {
			first = false
			return status.Unavailable(errDown, 7*time.Second)
		}
		return nil
	}
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(time.Second)
	s.SetPodStatus(newPod("b"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(10 * time.Second)
	require.Equal(t, "7040ms b v1 Running\n7060ms a v1 Running", s.takeUpdates(), "one goes ahead")
	require.NoError(t, s.stopSender(time.Second))
}

// ST-44: a delay of one pod delays no other, and a newer status waits for it.
func TestSender_ST44_RetryAfterOfOne(t *testing.T) {
	s := newSending(t)
	s.answer = func(u status.Update) error {
		if u.UID == "a" && u.Version == 1 {
			return status.RetryAfter(errDown, 5*time.Second)
		}
		return nil
	}
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodPending))
	s.SetPodStatus(newPod("b"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(time.Second)
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(10 * time.Second)
	require.Equal(t, "20ms b v1 Running\n5040ms a v2 Running", s.takeUpdates())
	require.NoError(t, s.stopSender(time.Second))
}

// ST-44: a rejected status is not sent again, but a newer status is.
func TestSender_ST44_RefusedUntilNewer(t *testing.T) {
	var told []string
	s := newSending(t, func(c *status.SenderConfig) {
		c.Hooks.Failed = func(u status.Update, err error, pause time.Duration) {
			told = append(told, fmt.Sprint(u.UID, " v", u.Version, " ", err, " ", pause))
		}
	})
	s.answer = func(u status.Update) error {
		if u.Version == 1 {
			return fmt.Errorf("%w: bad IP", status.ErrRefused)
		}
		return nil
	}
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodPending))
	s.runUntilAfter(time.Hour)
	require.Equal(t, []string{"a v1 status: refused: bad IP 0s"}, told)
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(time.Hour + time.Second)
	require.Equal(t, "3600020ms a v2 Running", s.takeUpdates())
	s.SetPodStatus(newPod("b"), statusInPhase(v1.PodPending))
	s.runUntilAfter(2 * time.Hour)
	require.NoError(t, s.stopSender(time.Second), "a refused status is not left")
}

// ST-45: a static pod without its mirror is not counted as sent, and not as unsent either.
func TestSender_ST45_NotYet(t *testing.T) {
	s := newSending(t)
	mirror := false
	s.answer = func(status.Update) error {
		if !mirror {
			return fmt.Errorf("x: %w", status.ErrNotYet)
		}
		return nil
	}
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(time.Minute)
	require.Empty(t, s.takeUpdates())
	s.sender.Resend("a")
	s.runUntilAfter(61 * time.Second)
	mirror = true
	s.sender.Resend("a")
	s.runUntilAfter(2 * time.Minute)
	require.Equal(t, "61020ms a v1 Running", s.takeUpdates())
	mirror = false
	s.sender.Resend("a")
	s.sender.Resend("unknown")
	s.runUntilAfter(3 * time.Minute)
	require.Equal(t, 1, s.sender.Known())
	s.RemoveOrphanedStatuses(nil)
	s.runUntilAfter(4 * time.Minute)
	require.Zero(t, s.sender.Known(), "nothing comes after the removal")
	require.NoError(t, s.stopSender(time.Second))
}

// ST-45, ST-29: two writers of one field do not fight at full speed.
func TestSender_ST45_ST29_ResendAtMostEachTenSeconds(t *testing.T) {
	s := newSending(t)
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(time.Second)
	s.sender.Resend("a")
	s.runUntilAfter(2 * time.Second)
	require.Equal(t, "20ms a v1 Running\n1020ms a v1 Running", s.takeUpdates())
	for i := range 10 {
		s.sender.Resend("a")
		s.runUntilAfter(time.Duration(2+i) * time.Second)
	}
	s.SetPodStatus(newPod("a"), readyStatus(v1.ConditionTrue))
	s.runUntilAfter(time.Minute)
	require.Equal(t, "11020ms a v1 Running\n11040ms a v2 Running", s.takeUpdates())
	require.NoError(t, s.stopSender(time.Second))
}

// MI-16: a new mirror pod gets its status at once, however often there is another one.
func TestSender_MI16_ResendNow(t *testing.T) {
	s := newSending(t)
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(time.Second)
	s.sender.Resend("a")
	s.runUntilAfter(2 * time.Second)
	s.sender.Resend("a")
	s.runUntilAfter(3 * time.Second)
	s.sender.ResendNow("a")
	s.runUntilAfter(4 * time.Second)
	s.sender.ResendNow("a")
	s.runUntilAfter(time.Minute)
	require.Equal(t, "20ms a v1 Running\n1020ms a v1 Running\n3020ms a v1 Running\n4020ms a v1 Running", s.takeUpdates())
	require.NoError(t, s.stopSender(time.Second))
}

// ST-17: a held-back status is sent again too.
func TestSender_ST17_ResendOfWhatIsHeldBack(t *testing.T) {
	s := newSending(t)
	s.could["a"] = true
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
	s.runUntilAfter(5 * time.Second)
	s.sender.Resend("a")
	s.runUntilAfter(6500 * time.Millisecond)
	require.Equal(t, "20ms a v1 Pending", s.arrived[0])
	require.Len(t, s.arrived, 2)
	s.could["a"] = false
	s.runUntilAfter(8 * time.Second)
	require.Contains(t, s.takeUpdates(), "a v1 Failed")
	require.NoError(t, s.stopSender(time.Second))
}

// CF-26: when the server answers again nothing waits any longer.
func TestSender_CF26_RetryNow(t *testing.T) {
	for name, answer := range map[string]error{
		"unavailable": status.Unavailable(errDown, time.Hour), "of each pod": errDown,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSending(t)
			s.answer = func(status.Update) error { return answer }
			s.startSender()
			for i := range 3 {
				s.SetPodStatus(newPod(fmt.Sprint("pod", i)), statusInPhase(v1.PodRunning))
			}
			s.runUntilAfter(10 * time.Minute)
			answer = nil
			s.sender.RetryNow()
			s.runUntilAfter(10*time.Minute + time.Second)
			require.ElementsMatch(t, []string{"600020ms pod0 v1 Running", "600020ms pod1 v1 Running", "600020ms pod2 v1 Running"}, s.arrived)
			require.NoError(t, s.stopSender(time.Second))
		})
	}
}

// Item 43, ST-15: what waits after failures when the sender ends is tried at once, whatever the
// pause, and if that fails, as after the first failure.
func TestSender_Item43_ST15_TriesOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		fails  string // if the sink goes on to fail: when it is called
	}{
		"of one":                  {errDown, "600000ms 601020ms 603040ms 607060ms"},
		"asks for time":           {status.RetryAfter(errDown, time.Hour), "600000ms"},
		"of all":                  {status.Unavailable(errDown, 0), "600000ms 602020ms 606040ms"},
		"of all, asks for time":   {status.Unavailable(errDown, time.Hour), "600000ms"},
		"of all, for a moment":    {status.Unavailable(errDown, time.Second), "600000ms 602020ms 606040ms"},
		"of one, for two seconds": {status.RetryAfter(errDown, 2*time.Second), "600000ms 602020ms 604040ms 608060ms"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSending(t)
			answer := c.answer
			s.answer = func(status.Update) error { return answer }
			s.startSender()
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
			s.runUntilAfter(10 * time.Minute)
			answer = nil
			require.NoError(t, s.stopSender(20*time.Millisecond))
			require.Equal(t, "600020ms a v1 Running", s.takeUpdates())

			s = newSending(t)
			var calls []string
			s.answer = func(status.Update) error {
				if at := s.simulation.Now().Sub(start) - s.latency; at >= 10*time.Minute {
					calls = append(calls, fmt.Sprint(at.Milliseconds(), "ms"))
				}
				return c.answer
			}
			s.startSender()
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
			s.runUntilAfter(10 * time.Minute)
			require.ErrorIs(t, s.stopSender(10*time.Second), status.ErrUnsent)
			require.Equal(t, c.fails, strings.Join(calls, " "))
		})
	}
}

// ST-15: under any faults the statuses of a pod arrive in order, and the last one arrives
// once the sink works.
func TestSender_ST15_InOrderUnderFaults(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newSending(t)
		last := map[string]uint64{}
		well := false
		s.answer = func(u status.Update) error {
			if !well {
				switch rapid.IntRange(0, 5).Draw(r, "answer") {
				case 0:
					return errDown
				case 1:
					return status.Unavailable(errDown, time.Duration(rapid.IntRange(0, 3).Draw(r, "after"))*time.Second)
				case 2:
					return status.RetryAfter(errDown, 2*time.Second)
				case 3:
					return status.ErrRefused
				case 4:
					return status.ErrNotYet
				}
			}
			if u.Version < last[string(u.UID)] {
				r.Fatalf("%s: version %d after %d", u.UID, u.Version, last[string(u.UID)])
			}
			last[string(u.UID)] = u.Version
			return nil
		}
		s.startSender()
		now := time.Duration(0)
		for i := range rapid.IntRange(1, 30).Draw(r, "steps") {
			uid := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "pod")
			switch rapid.IntRange(0, 4).Draw(r, "do") {
			case 0:
				s.sender.Resend(newPod(uid).UID)
			case 1:
				s.sender.RetryNow()
			default:
				pod := statusInPhase(v1.PodRunning)
				pod.Message = fmt.Sprint(i)
				s.SetPodStatus(newPod(uid), pod)
			}
			now += time.Duration(rapid.IntRange(0, 1500).Draw(r, "wait")) * time.Millisecond
			s.runUntilAfter(now)
		}
		well = true
		for _, uid := range []string{"a", "b", "c"} {
			s.sender.Resend(newPod(uid).UID)
		}
		s.runUntilAfter(now + 2*time.Minute)
		want := map[string]uint64{}
		sub := s.Subscribe(nil)
		for _, u := range sub.TakeAll(nil) {
			want[string(u.UID)] = u.Version
		}
		sub.Close()
		if fmt.Sprint(want) != fmt.Sprint(last) {
			r.Fatalf("at the sink %v, in the store %v", last, want)
		}
		if err := s.stopSender(time.Second); err != nil {
			r.Fatal(err)
		}
	})
}
