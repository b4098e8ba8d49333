package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/node"
)

var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// shown is a pod with one container in a state.
func shown(namespace, name string, uid types.UID, c v1.ContainerStatus) node.PodState {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid},
		Spec:       v1.PodSpec{Containers: make([]v1.Container, 1)},
		Status: v1.PodStatus{
			Phase:             v1.PodRunning,
			StartTime:         &metav1.Time{Time: start},
			ContainerStatuses: []v1.ContainerStatus{c},
		},
	}
	return node.PodState{Pod: pod}
}

var running = v1.ContainerStatus{Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}

func TestTable(t *testing.T) {
	var out strings.Builder
	now := start
	table := newRowPrinter(&out)
	table.now = func() time.Time { return now }
	show := func(s node.PodState) { require.NoError(t, table.updatePod(s)) }

	early := shown("default", "web", "1", v1.ContainerStatus{})
	early.Pod.Status = v1.PodStatus{}
	show(early)
	web := shown("default", "web", "1", running)
	show(web)
	now = start.Add(90 * time.Second)
	show(web) // Only the age is new.
	show(shown("kube-system", "dns", "2", running))

	again := running
	again.RestartCount = 1
	show(shown("default", "web", "1", again))
	again.RestartCount = 2
	again.LastTerminationState.Terminated = &v1.ContainerStateTerminated{FinishedAt: metav1.NewTime(start.Add(77 * time.Second))}
	show(shown("default", "web", "1", again))
	now = start.Add(3 * time.Hour)
	waiting := again
	waiting.Ready, waiting.State = false, v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	show(shown("default", "web", "1", waiting))

	// The file has changed: another pod with this name follows.
	ending := shown("default", "web", "1", again)
	ending.Terminating = true
	show(ending)
	show(shown("default", "web", "3", running))
	ending.Gone, ending.Terminating = true, false
	show(ending)
	gone := shown("default", "web", "3", running)
	gone.Gone = true
	show(gone)

	assert.Equal(t, `NAME                          READY  STATUS                  RESTARTS        AGE
web                           0/1    Pending                 0               0s
web                           1/1    Running                 0               0s
kube-system/dns               1/1    Running                 0               90s
web                           1/1    Running                 1               90s
web                           1/1    Running                 2 (13s ago)     90s
web                           0/1    CrashLoopBackOff        2 (178m ago)    3h
web                           1/1    Terminating             2 (178m ago)    3h
web                           1/1    Running                 0               3h
web                           1/1    Gone                    0               3h
`, out.String())
	assert.Len(t, table.shownRows, 1, "nothing is remembered of what has gone")
}

// The states that kubectl get pods -w shows.
func TestTable_Ages(t *testing.T) {
	for age, want := range map[time.Duration]string{
		-time.Second:                  "0s",
		119 * time.Second:             "119s",
		2*time.Minute + 5*time.Second: "2m5s",
		50 * time.Hour:                "2d2h",
	} {
		table := rowPrinter{now: func() time.Time { return start.Add(age) }}
		assert.Equal(t, want, table.timeSince(start))
	}
}
