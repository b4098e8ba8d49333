package nodetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

// usersFor returns the different users that the container of the only pod has in its status within a time.
func (k *keeping) usersFor(d time.Duration) (all []string) {
	for end := k.Now().Add(d); k.Now().Before(end); k.Run(100 * time.Millisecond) {
		pods := k.Node().Pods()
		if len(pods) != 1 || len(pods[0].Status.ContainerStatuses) != 1 || pods[0].Status.ContainerStatuses[0].ContainerID == "" {
			continue
		}
		user := "none"
		if u := pods[0].Status.ContainerStatuses[0].User; u != nil {
			user = fmt.Sprint(u.Linux.UID, u.Linux.GID, u.Linux.SupplementalGroups)
		}
		if len(all) == 0 || all[len(all)-1] != user {
			all = append(all, user)
		}
	}
	return all
}

// TestContainerUser_CS16_Restarts: the user stays in the status while the container restarts, when the agent restarts, and
// after the end of the pod.
func TestContainerUser_CS16_Restarts(t *testing.T) {
	for name, c := range map[string]struct {
		policy v1.RestartPolicy
		phase  v1.PodPhase
	}{"always": {v1.RestartPolicyAlways, v1.PodRunning}, "never": {v1.RestartPolicyNever, v1.PodFailed}} {
		t.Run(name, func(t *testing.T) {
			k := newKeeping(t, 1)
			p := newPod("web", []string{"serve"})
			p.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=20s exit=1"}
			p.Spec.RestartPolicy = c.policy
			p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsUser: new(int64(1)), RunAsGroup: new(int64(2)), SupplementalGroups: []int64{4, 3}, FSGroup: new(int64(5))}
			k.Apply(p)
			want := []string{"1 2 [2 5 4 3]"}
			assert.Equal(t, want, k.usersFor(3*time.Minute))
			k.restartAgent()
			assert.Equal(t, want, k.usersFor(3*time.Minute))
			assert.Equal(t, c.phase, k.firstStatus().Phase)
			k.Stop()
		})
	}
}
