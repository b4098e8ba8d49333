package status_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/status"
)

// TestSender_Delay: the first change of a pod waits, and the newest status is sent then. A sender that stops does not
// wait, nor does a change after its stop.
func TestSender_Delay(t *testing.T) {
	s := newSending(t, func(c *status.SenderConfig) { c.Delay = 5 * time.Second })
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodPending))
	s.runUntilAfter(3 * time.Second)
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(4 * time.Second)
	require.Empty(t, s.takeUpdates())
	s.runUntilAfter(10 * time.Second)
	require.Equal(t, "5020ms a v2 Running", s.takeUpdates())
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodSucceeded))
	s.runUntilAfter(12 * time.Second)
	require.NoError(t, s.stopSender(time.Second))
	require.Equal(t, "12020ms a v3 Succeeded", s.takeUpdates())
}

// TestNewSender_NegativeDelay: a negative delay is a fault.
func TestNewSender_NegativeDelay(t *testing.T) {
	_, err := status.NewSender(status.SenderConfig{Store: status.New(status.Config{}), Sink: &sending{}, Delay: -1})
	require.EqualError(t, err, "status: SenderConfig.Delay is negative")
}
