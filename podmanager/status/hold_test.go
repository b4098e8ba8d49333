package status_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/status"
)

// failedStatus returns the status of a pod whose container has exited. The address makes the statuses differ.
func failedStatus(ip string) v1.PodStatus {
	return v1.PodStatus{Phase: v1.PodFailed, PodIP: ip, ContainerStatuses: []v1.ContainerStatus{
		{Name: "c", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 1}}},
	}}
}

// failUpdates makes the sink fail n times.
func (s *sending) failUpdates(n int) {
	s.answer = func(status.Update) error {
		if n--; n >= 0 {
			return errors.New("not now")
		}
		return nil
	}
}

func deletedPod(uid string) *v1.Pod {
	pod := newPod(uid)
	pod.DeletionTimestamp = &metav1.Time{Time: start}
	return pod
}

var runs = v1.ContainerState{Running: &v1.ContainerStateRunning{}}

// ST-17: a pod without a running container has a moment to stop, so that one status reports everything, whether a
// terminal phase is held back or not. Each story begins after a second.
func TestSender_ST17_OneStatusForAPodThatStopsSoon(t *testing.T) {
	for name, story := range map[string]struct {
		tell   func(s *sending)
		expect string
	}{
		"held": {func(s *sending) {
			s.could["a"] = true
			s.SetPodStatus(newPod("a"), failedStatus(""))
			s.runUntilAfter(1060 * time.Millisecond)
			s.TerminatePod(newPod("a"))
		}, "1080ms a v2 Failed"},
		"not held": {func(s *sending) {
			s.SetPodStatus(newPod("a"), failedStatus(""))
			s.runUntilAfter(1060 * time.Millisecond)
			s.TerminatePod(newPod("a"))
		}, "1080ms a v2 Failed"},
		"it does not stop soon": {func(s *sending) {
			s.could["a"] = true
			s.SetPodStatus(newPod("a"), failedStatus(""))
		}, "1120ms a v1 Pending"},
		"news makes the moment no longer": {func(s *sending) {
			s.could["a"] = true
			for i, ip := range []string{"", "10.0.0.1", "10.0.0.2", "10.0.0.3"} {
				s.runUntilAfter(time.Second + time.Duration(i)*40*time.Millisecond)
				s.SetPodStatus(newPod("a"), failedStatus(ip))
			}
		}, "1120ms a v3 Pending\n1140ms a v4 Pending"},
		"there is only one": {func(s *sending) {
			s.could["a"] = true
			s.SetPodStatus(newPod("a"), failedStatus(""))
			s.runUntilAfter(5200 * time.Millisecond)
			s.SetPodStatus(newPod("a"), failedStatus("10.0.0.1"))
		}, "1120ms a v1 Pending\n5220ms a v2 Pending"},
		"deleted": {func(s *sending) {
			status := failedStatus("")
			status.Phase = v1.PodRunning
			s.SetPodStatus(deletedPod("a"), status)
			s.runUntilAfter(1060 * time.Millisecond)
			s.TerminatePod(deletedPod("a"))
		}, "1080ms a v2 Failed"},
		"neither over nor deleted": {func(s *sending) {
			status := failedStatus("")
			status.Phase = v1.PodRunning
			s.SetPodStatus(newPod("a"), status)
		}, "1020ms a v1 Running"},
		"a container runs": {func(s *sending) {
			status := failedStatus("")
			status.ContainerStatuses[0].State = runs
			s.SetPodStatus(newPod("a"), status)
		}, "1020ms a v1 Failed"},
		"a sidecar runs": {func(s *sending) {
			status := failedStatus("")
			status.InitContainerStatuses = []v1.ContainerStatus{{Name: "i", State: runs}}
			s.SetPodStatus(newPod("a"), status)
		}, "1020ms a v1 Failed"},
		"an ephemeral container runs": {func(s *sending) {
			status := failedStatus("")
			status.EphemeralContainerStatuses = []v1.ContainerStatus{{Name: "e", State: runs}}
			s.SetPodStatus(newPod("a"), status)
		}, "1020ms a v1 Failed"},
		"there is no container": {func(s *sending) {
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
		}, "1020ms a v1 Failed"},
		"it is asked for": {func(s *sending) {
			s.could["a"] = true
			s.SetPodStatus(newPod("a"), failedStatus(""))
			s.runUntilAfter(5500 * time.Millisecond)
			s.sender.ResendNow("a")
		}, "1120ms a v1 Pending\n5520ms a v1 Pending"},
		"removed meanwhile": {func(s *sending) {
			s.SetPodStatus(newPod("a"), failedStatus(""))
			s.runUntilAfter(1060 * time.Millisecond)
			s.RemoveOrphanedStatuses(nil)
		}, "1080ms a removed"},
		"the first status after another pod was removed": {func(s *sending) {
			s.SetPodStatus(newPod("other"), statusInPhase(v1.PodRunning))
			s.runUntilAfter(2 * time.Second)
			s.RemoveOrphanedStatuses(nil)
			s.runUntilAfter(3 * time.Second)
			s.takeUpdates()
			s.SetPodStatus(newPod("a"), failedStatus(""))
		}, "3120ms a v2 Failed"},
		"its UID is used again": {func(s *sending) {
			s.SetPodStatus(newPod("a"), failedStatus(""))
			s.runUntilAfter(1050 * time.Millisecond)
			s.TerminatePod(newPod("a"))
			s.runUntilAfter(2 * time.Second)
			s.ReplacePodStatus(newPod("a"), statusInPhase(v1.PodRunning))
			s.runUntilAfter(3 * time.Second)
			s.takeUpdates()
			s.SetPodStatus(newPod("a"), failedStatus(""))
			s.runUntilAfter(3050 * time.Millisecond)
			s.TerminatePod(newPod("a"))
		}, "3070ms a v5 Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSending(t)
			s.startSender()
			s.runUntilAfter(time.Second)
			story.tell(s)
			s.runUntilAfter(10 * time.Second)
			assert.Equal(t, story.expect, s.takeUpdates())
			s.could = nil
			s.runUntilAfter(20 * time.Second)
			require.NoError(t, s.stopSender(0))
		})
	}
}

// ST-17: without CouldRun the sender cannot detect when a pod has stopped, so a status does not wait.
func TestSender_ST17_NoMomentWithoutCouldRun(t *testing.T) {
	s := newSending(t, func(c *status.SenderConfig) { c.CouldRun = nil })
	s.startSender()
	s.SetPodStatus(newPod("a"), failedStatus(""))
	s.runUntilAfter(time.Second)
	assert.Equal(t, "20ms a v1 Failed", s.takeUpdates())
	require.NoError(t, s.stopSender(0))
}

// ST-17: that an incarnation before it was over does not tell of the end of the next one.
func TestSender_ST17_EndOfTheIncarnationBefore(t *testing.T) {
	s := newSending(t)
	s.startSender()
	s.TerminatePod(newPod("a"))
	s.runUntilAfter(time.Second)
	s.could["a"] = true
	s.ReplacePodStatus(newPod("a"), statusInPhase(v1.PodFailed))
	s.runUntilAfter(1500 * time.Millisecond)
	assert.Equal(t, "20ms a v1 Failed\n1020ms a v2 Pending", s.takeUpdates())
	require.NoError(t, s.stopSender(100*time.Millisecond))
}

// Item 43: the sender ends, and nothing waits any longer for a pod to stop.
func TestSender_Item43_DrainsWhatWaitsForItsEnd(t *testing.T) {
	s := newSending(t, func(c *status.SenderConfig) { c.Drain = 50 * time.Millisecond })
	s.startSender()
	s.SetPodStatus(newPod("a"), failedStatus(""))
	s.runUntilAfter(10 * time.Millisecond)
	require.NoError(t, s.stopSender(time.Second))
	assert.Equal(t, "30ms a v1 Failed", s.takeUpdates())

	s = newSending(t, func(c *status.SenderConfig) { c.Drain = 50 * time.Millisecond })
	s.startSender()
	s.cancel()
	s.SetPodStatus(newPod("a"), failedStatus(""))
	require.NoError(t, s.stopSender(time.Second))
	assert.Equal(t, "20ms a v1 Failed", s.takeUpdates())
}

// Item 43: a pod that could still run does not keep the sender from its end: all that may be told of
// it was told. Each story begins after a second.
func TestSender_Item43_ST17_HeldPodsAreNotLeft(t *testing.T) {
	for name, story := range map[string]struct {
		tell   func(s *sending)
		expect string
	}{
		"told before": {func(s *sending) {
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.runUntilAfter(1500 * time.Millisecond)
			s.cancel()
		}, "1020ms a v1 Pending"},
		"being told": {func(s *sending) {
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.runUntilAfter(1010 * time.Millisecond)
			s.cancel()
		}, "1020ms a v1 Pending"},
		"not told yet": {func(s *sending) {
			s.cancel()
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
		}, "1020ms a v1 Pending"},
		"it stops at last": {func(s *sending) {
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.runUntilAfter(1500 * time.Millisecond)
			s.TerminatePod(newPod("a"))
			s.cancel()
		}, "1020ms a v1 Pending\n1520ms a v2 Failed"},
		"it has stopped at last": {func(s *sending) {
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.runUntilAfter(1500 * time.Millisecond)
			s.could["a"] = false
			s.cancel()
		}, "1020ms a v1 Pending\n1520ms a v1 Failed"},
		"it is asked for": {func(s *sending) {
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.runUntilAfter(1500 * time.Millisecond)
			s.sender.Resend("a")
			s.cancel()
		}, "1020ms a v1 Pending\n1520ms a v1 Pending"},
		"it is asked for, now": {func(s *sending) {
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.runUntilAfter(1500 * time.Millisecond)
			s.sender.Resend("a")
			s.runUntilAfter(1600 * time.Millisecond)
			s.cancel()
			s.SetPodStatus(newPod("b"), statusInPhase(v1.PodRunning))
			s.runUntilAfter(1610 * time.Millisecond)
			s.sender.Resend("a")
			s.sender.ResendNow("a")
		}, "1020ms a v1 Pending\n1520ms a v1 Pending\n1620ms b v1 Running\n1630ms a v1 Pending"},
		"a repeat fails": {func(s *sending) {
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.runUntilAfter(1500 * time.Millisecond)
			s.failUpdates(1)
			s.sender.Resend("a")
			s.cancel()
		}, "1020ms a v1 Pending\n2540ms a v1 Pending"},
		"the first fails": {func(s *sending) {
			s.failUpdates(1)
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.cancel()
		}, "2040ms a v1 Pending"},
		"it is refused": {func(s *sending) {
			s.answer = func(status.Update) error { return status.ErrRefused }
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.cancel()
		}, ""},
		"news after all was told": {func(s *sending) {
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.runUntilAfter(1500 * time.Millisecond)
			s.SetPodStatus(newPod("b"), statusInPhase(v1.PodRunning)) // It takes until 1520 ms.
			s.cancel()
			s.runUntilAfter(1510 * time.Millisecond)
			s.TerminatePod(newPod("a"))
		}, "1020ms a v1 Pending\n1520ms b v1 Running\n1530ms a v2 Failed"},
		"removed after all was told": {func(s *sending) {
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
			s.runUntilAfter(1500 * time.Millisecond)
			s.SetPodStatus(newPod("b"), statusInPhase(v1.PodRunning))
			s.cancel()
			s.runUntilAfter(1510 * time.Millisecond)
			s.RemoveOrphanedStatuses(map[types.UID]bool{"b": true})
		}, "1020ms a v1 Pending\n1520ms b v1 Running\n1530ms a removed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSending(t)
			s.could["a"] = true
			s.startSender()
			s.runUntilAfter(time.Second)
			story.tell(s)
			require.NoError(t, s.stopSender(1100*time.Millisecond))
			assert.Equal(t, story.expect, s.takeUpdates())
		})
	}
}

// Item 43, ST-17: the sender ends while CouldRun is asked. An answer from before that drops no end.
func TestSender_Item43_ST17_StaleAnswerDropsNothing(t *testing.T) {
	var s *sending
	s = newSending(t, func(c *status.SenderConfig) {
		c.CouldRun = func(uid types.UID) bool {
			could := s.could[uid]
			_ = executor.Over(s.process.Clock()).Sleep(context.Background(), 10*time.Millisecond)
			return could
		}
	})
	s.could["a"] = true
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
	s.runUntilAfter(1035 * time.Millisecond) // It is asked since 1030 ms.
	s.could["a"] = false
	s.cancel()
	require.NoError(t, s.stopSender(100*time.Millisecond))
	assert.Equal(t, "30ms a v1 Pending\n1070ms a v1 Failed", s.takeUpdates())
}

// ST-17: if the resend of a held-back status fails, it is sent again.
func TestSender_ST17_RepeatThatFailed(t *testing.T) {
	s := newSending(t)
	s.could["a"] = true
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
	s.runUntilAfter(5 * time.Second)
	s.failUpdates(1)
	s.sender.Resend("a")
	s.runUntilAfter(10 * time.Second)
	assert.Equal(t, "20ms a v1 Pending\n6040ms a v1 Pending", s.takeUpdates())
	require.NoError(t, s.stopSender(100*time.Millisecond))
}

// ST-17, F: a CouldRun that panics takes nothing down. The pod could still run.
func TestSender_ST17_F_CouldRunPanics(t *testing.T) {
	var told []string
	s := newSending(t, func(c *status.SenderConfig) {
		could := c.CouldRun
		c.CouldRun = func(uid types.UID) bool {
			if could(uid) {
				panic("boom")
			}
			return false
		}
		c.Hooks.Panicked = func(call string, err error) { told = append(told, fmt.Sprint(call, ": ", err)) }
	})
	s.could["a"] = true
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodFailed))
	s.runUntilAfter(500 * time.Millisecond)
	s.could["a"] = false
	s.runUntilAfter(2 * time.Second)
	assert.Equal(t, "20ms a v1 Pending\n1040ms a v1 Failed", s.takeUpdates())
	require.Len(t, told, 1)
	assert.Contains(t, told[0], "CouldRun: ")
	require.NoError(t, s.stopSender(100*time.Millisecond))
}

// Item 43, ST-29: a repeat that waits for its ten seconds, or that is asked for at the last moment,
// is made when the sender ends. None begins to wait then: another writer cannot keep the sender
// from its end. In each story a was sent, and sent again after a second.
func TestSender_Item43_ST29_RepeatsAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(s *sending){
		"it waits": func(s *sending) {
			s.sender.Resend("a")
			s.answer = func(status.Update) error { s.sender.Resend("a"); return nil } // Another writes again.
			s.runUntilAfter(3 * time.Second)
			s.cancel()
		},
		"at the last moment": func(s *sending) {
			s.runUntilAfter(3 * time.Second)
			s.cancel()
			s.sender.Resend("a") // Run has not noticed.
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSending(t)
			s.startSender()
			s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
			s.runUntilAfter(time.Second)
			s.sender.Resend("a")
			s.runUntilAfter(2 * time.Second)
			end(s)
			require.NoError(t, s.stopSender(100*time.Millisecond))
			assert.Equal(t, "20ms a v1 Running\n1020ms a v1 Running\n3020ms a v1 Running", s.takeUpdates())
		})
	}
}

// sentState are statuses of somebody else's store, which does not say which pod it was.
type sentState []status.Update

func (u sentState) Subscribe(wake func()) status.Subscription { wake(); return &once{u} }

type once struct{ updates sentState }

func (o *once) TakeAll(buf []status.Update) []status.Update {
	buf = append(buf, o.updates...)
	o.updates = nil
	return buf
}

func (o *once) Close() {}

// ST-17, F: an update without its pod is sent as any other.
func TestSender_ST17_F_PodUnknown(t *testing.T) {
	s := newSending(t, func(c *status.SenderConfig) {
		c.Store = sentState{{UID: "a", Version: 1, Status: failedStatus("")}, {UID: "b", Version: 2, Status: statusInPhase(v1.PodRunning)}, {UID: "c", Version: 3, Status: statusInPhase(v1.PodFailed)}}
	})
	s.could["c"] = true
	s.startSender()
	s.runUntilAfter(500 * time.Millisecond)
	assert.Equal(t, "20ms b v2 Running\n20ms c v3 Pending\n120ms a v1 Failed", s.takeUpdates())
	require.NoError(t, s.stopSender(100*time.Millisecond))
}
