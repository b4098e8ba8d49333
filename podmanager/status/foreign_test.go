package status_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status"
)

// foreign are Statuses of another making: a list of updates.
type foreign struct {
	updates []status.Update
	closed  int
}

func (f *foreign) Subscribe(wake func()) status.Subscription { wake(); return f }
func (f *foreign) Close()                                    { f.closed++ }
func (f *foreign) TakeAll(buf []status.Update) []status.Update {
	buf, f.updates = append(buf, f.updates...), nil
	return buf
}

// A Sender reads any Statuses, and closes its subscription once.
func TestSender_OfOtherStatuses(t *testing.T) {
	pod := newPod("a")
	f := &foreign{updates: []status.Update{
		{UID: "a", Pod: pod, Version: 1, Status: v1.PodStatus{Phase: v1.PodRunning}},
		{UID: "b", Pod: newPod("b"), Version: 3, Status: v1.PodStatus{
			Phase: v1.PodFailed, ContainerStatuses: []v1.ContainerStatus{{Name: "c", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}},
		}},
	}}
	s := newSending(t, func(cfg *status.SenderConfig) { cfg.Store = f })
	s.could = map[types.UID]bool{"b": true}
	s.startSender()
	s.runUntilAfter(20 * time.Millisecond)
	assert.Equal(t, "20ms b v3 Pending\n20ms a v1 Running", s.takeUpdates(), "an end first, held back")
	s.could = nil
	s.runUntilAfter(2 * time.Second)
	assert.Equal(t, "1040ms b v3 Failed", s.takeUpdates())
	require.NoError(t, s.stopSender(0))
	assert.Equal(t, 1, f.closed)
}

// What HoldBackTerminalPhase shows for an Update without Before, and of one that began at its end.
func TestUpdate_HoldBack_ByHand(t *testing.T) {
	for before, want := range map[v1.PodPhase]v1.PodPhase{
		"": v1.PodPending, v1.PodPending: v1.PodPending, v1.PodRunning: v1.PodRunning, v1.PodFailed: v1.PodSucceeded,
	} {
		u := status.Update{
			Before: status.PhaseReason{Phase: before},
			Status: v1.PodStatus{Phase: v1.PodSucceeded, ContainerStatuses: []v1.ContainerStatus{{Name: "c"}}},
		}
		u.HoldBackTerminalPhase()
		assert.Equal(t, want, u.Status.Phase, "before: %q", before)
	}
}

// TakeAll appends to what the caller has.
func TestSubscription_TakeAllAppends(t *testing.T) {
	store := status.New(status.Config{})
	var statuses status.Statuses = store
	sub := statuses.Subscribe(nil)
	store.SetPodStatus(newPod("a"), v1.PodStatus{Phase: v1.PodPending})
	all := sub.TakeAll([]status.Update{{UID: "before"}})
	store.SetPodStatus(newPod("b"), v1.PodStatus{Phase: v1.PodPending})
	all = sub.TakeAll(all)
	sub.Close()
	sub.Close()
	store.SetPodStatus(newPod("c"), v1.PodStatus{Phase: v1.PodPending})
	all = sub.TakeAll(all)
	var uids []string
	for _, u := range all {
		uids = append(uids, fmt.Sprint(u.UID, u.Version))
	}
	assert.Equal(t, []string{"before0", "a1", "b1"}, uids)
}
