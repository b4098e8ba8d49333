package podsync_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
)

// Outer 4.19: a container is seen to run while its hook does, but neither has it
// started nor is it ready, and it is not probed: what it needs may not be there.
func TestPostStart_4_19_RunsAndHasNotStarted(t *testing.T) {
	st := newStory(t)
	st.pod = plainPod(func(p *v1.Pod) {
		c := &p.Spec.Containers[0]
		c.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 5}}}
		c.LivenessProbe = &v1.Probe{}
	})
	probes := &seenProbes{}
	syncer, err := podsync.New(podsync.Config{
		Runtime: st.tap, Status: st.store, Clock: st.b.p.Clock(), Probes: probes, HostIPs: []string{"192.0.2.1"},
	})
	assert.NoError(t, err)
	st.syncer = syncer
	during := due{st.b.s.Now().Add(2 * time.Second), func() {
		status := st.store.statuses["u"]
		assert.NotNil(t, status.ContainerStatuses[0].State.Running)
		assert.NotEmpty(t, status.ContainerStatuses[0].ContainerID)
		assert.False(t, *status.ContainerStatuses[0].Started)
		assert.False(t, status.ContainerStatuses[0].Ready)
		assert.Empty(t, probes.ids)
	}}
	sync := func(at ...due) {
		st.observePod()
		st.b.runCall(func() { _, err = st.invokeSyncer(context.Background(), "sync", nil, nil) }, at...)
		assert.NoError(t, err)
	}
	sync(during)
	assert.Equal(t, 5*time.Second, st.b.s.Now().Sub(start))
	sync()
	status := st.store.statuses["u"].ContainerStatuses[0]
	assert.True(t, status.Ready)
	assert.Equal(t, []string{status.ContainerID}, probes.ids)
}

// seenProbes is a prober that believes everything, and notes which containers it
// has been shown.
type seenProbes struct{ ids []string }

func (*seenProbes) AddPod(*v1.Pod)                         {}
func (*seenProbes) UpdatePodStatus(*v1.Pod, *v1.PodStatus) {}
func (*seenProbes) Failed(types.UID, string) (_, _ bool)   { return false, false }
func (*seenProbes) Started(types.UID, string) bool         { return true }
func (*seenProbes) StopLivenessAndStartup(types.UID)       {}
func (*seenProbes) RemovePod(types.UID)                    {}
func (p *seenProbes) ObserveStatus(_ types.UID, status *v1.PodStatus) {
	for i := range status.ContainerStatuses {
		if id := status.ContainerStatuses[i].ContainerID; id != "" {
			p.ids = append(p.ids, id)
		}
	}
}
