package nodetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// asServed returns the pod as an API server shows it that has kept a status.
func asServed(pod *v1.Pod, status v1.PodStatus) *v1.Pod {
	served := pod.DeepCopy()
	served.Status = *status.DeepCopy()
	return served
}

// conditionsFor returns each pair of started and ready that the pod has within a time.
func (k *keeping) conditionsFor(d time.Duration) (all []string) {
	for end := k.Now().Add(d); k.Now().Before(end); k.Run(100 * time.Millisecond) {
		pods := k.Node().Pods()
		if len(pods) != 1 || len(pods[0].Status.ContainerStatuses) != 1 || pods[0].Status.ContainerStatuses[0].Started == nil {
			continue
		}
		if s := k.describeReadiness(); len(all) == 0 || all[len(all)-1] != s {
			all = append(all, s)
		}
	}
	return all
}

// podFailingSecondStartup returns a slowPod whose startup probe fails if it runs again after its success.
func podFailingSecondStartup() *v1.Pod {
	p := slowPod("etcd")
	p.Annotations["memory.podkeel.dev/c0.startup"] = "fail for=10s; ok for=15s; fail"
	p.Spec.Containers[0].StartupProbe.FailureThreshold = 3
	return p
}

// TestRestart_StartedByTheAPIServersStatus: an agent without stored state restarts beside an API server
// that has the last status. A container that has started in that status has started: its startup probe
// does not run again, no container is killed, and Ready stays True.
func TestRestart_StartedByTheAPIServersStatus(t *testing.T) {
	k := newKeeping(t, 1)
	k.Apply(podFailingSecondStartup())
	k.Run(time.Minute)
	require.Equal(t, "started=true ready=true", k.describeReadiness())
	last := k.firstStatus()
	k.Crash()
	k.next.Containers = nil
	k.root += "-lost"
	k.openCheckpoint()
	k.Apply(asServed(podFailingSecondStartup(), last))
	k.Start()
	assert.Equal(t, []string{"started=true ready=true"}, k.conditionsFor(5*time.Minute))
	assert.Equal(t, 0, strings.Count(k.Transcript(), "StopContainer"))
	k.Stop()
}

// TestRestart_TheNewerWitnessCounts: the stored states of the node and the status of the API server
// differ. The container has started if either says so. Its readiness is the newer one, in the prober
// and in the first status alike.
func TestRestart_TheNewerWitnessCounts(t *testing.T) {
	for name, test := range map[string]struct {
		server func(status *v1.PodStatus) // how the server's status differs from the last one
		want   []string
	}{
		"the server has not heard of the start": {
			server: func(s *v1.PodStatus) {
				c := &s.ContainerStatuses[0]
				*c.Started, c.Ready = false, false
				setReady(s, v1.ConditionFalse, -50*time.Second)
			},
			want: []string{"started=true ready=true"},
		},
		"the server has heard later that it is not ready": {
			server: func(s *v1.PodStatus) {
				s.ContainerStatuses[0].Ready = false
				setReady(s, v1.ConditionFalse, time.Second)
			},
			want: []string{"started=true ready=false", "started=true ready=true"},
		},
		"the server knows another container": {
			server: func(s *v1.PodStatus) { s.ContainerStatuses[0].ContainerID = "podkeel://other" },
			want:   []string{"started=true ready=true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeping(t, 1)
			k.Apply(podFailingSecondStartup())
			k.Run(time.Minute)
			last := k.firstStatus()
			k.Crash()
			test.server(&last)
			k.openCheckpoint()
			k.Apply(asServed(podFailingSecondStartup(), last))
			k.Start()
			assert.Equal(t, test.want, k.conditionsFor(time.Minute))
			assert.Equal(t, 0, strings.Count(k.Transcript(), "StopContainer"))
			k.Stop()
		})
	}
}

// setReady sets the condition ContainersReady, which changed at a time after the last change.
func setReady(s *v1.PodStatus, value v1.ConditionStatus, after time.Duration) {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == v1.ContainersReady || c.Type == v1.PodReady {
			c.Status = value
			c.LastTransitionTime.Time = c.LastTransitionTime.Add(after)
		}
	}
}
