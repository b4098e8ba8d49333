package outbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/status/internal/outbox"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// ST-17, I48: whether the status of a pod that ends is sent now. Each line is one question:
//
//	[held] [reported] [resend] [stopping] [draining] [epoch=n] [deadline=n:100ms] [at=30ms]
//
// and each answer is a decision, with the time until when it waits, and the deadline of the pod if
// that is another one. Times are those since the beginning.
func TestDecide_ST17_I48_Stories(t *testing.T) {
	datadriven.RunTest(t, "testdata/decide/hold.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			f, at := question(t, line)
			decision, until, deadline := f.Decide(now.Add(at))
			fmt.Fprint(&out, decision)
			if !until.IsZero() {
				fmt.Fprint(&out, " until ", until.Sub(now))
			}
			if deadline != f.Deadline {
				fmt.Fprintf(&out, ", deadline %d:%s", deadline.Epoch, deadline.At.Sub(now))
			}
			fmt.Fprintln(&out)
		}
		return out.String()
	})
}

// since is a time after the beginning.
func since(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

func question(t *testing.T, line string) (f outbox.Facts, at time.Duration) {
	for _, word := range strings.Fields(line) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "held":
			f.Held = true
		case "reported":
			f.Reported = true
		case "resend":
			f.Resend = true
		case "stopping":
			f.PodStopping = true
		case "draining":
			f.Draining = true
		case "epoch":
			_, err := fmt.Sscan(value, &f.Epoch)
			require.NoError(t, err)
		case "deadline":
			epoch, at, _ := strings.Cut(value, ":")
			_, err := fmt.Sscan(epoch, &f.Deadline.Epoch)
			require.NoError(t, err)
			f.Deadline.At = now.Add(since(t, at))
		case "at":
			at = since(t, value)
		default:
			t.Fatalf("%s?", word)
		}
	}
	return f, at
}

// ST-29: when a status is sent again on request. Each line is one request:
//
//	[asked] [at-once] [draining] [next=10s] [at=3s]
func TestRepeat_ST29_Stories(t *testing.T) {
	datadriven.RunTest(t, "testdata/decide/repeat.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			r, at := request(t, line)
			when, next, ok := r.Decide(now.Add(at))
			if !ok {
				require.Equal(t, r.Next, next)
				fmt.Fprintln(&out, "none")
				continue
			}
			fmt.Fprintf(&out, "at %s, next %s\n", when.Sub(now), next.Sub(now))
		}
		return out.String()
	})
}

func request(t *testing.T, line string) (r outbox.Repeat, at time.Duration) {
	for _, word := range strings.Fields(line) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "asked":
			r.Asked = true
		case "at-once":
			r.AtOnce = true
		case "draining":
			r.Draining = true
		case "next":
			r.Next = now.Add(since(t, value))
		case "at":
			at = since(t, value)
		default:
			t.Fatalf("%s?", word)
		}
	}
	return r, at
}

// ST-17: the pods that are about to stop.
func TestStopping_ST17(t *testing.T) {
	deleted := &v1.Pod{}
	deleted.DeletionTimestamp = &metav1.Time{Time: now}
	ended := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
	waits, runs := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}, v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	list := func(states ...v1.ContainerState) (all []v1.ContainerStatus) {
		for _, state := range states {
			all = append(all, v1.ContainerStatus{State: state})
		}
		return all
	}
	for name, c := range map[string]struct {
		pod    *v1.Pod
		status v1.PodStatus
		want   bool
	}{
		"over":                       {&v1.Pod{}, v1.PodStatus{Phase: v1.PodSucceeded, ContainerStatuses: list(ended)}, true},
		"over, pod unknown":          {nil, v1.PodStatus{Phase: v1.PodFailed, ContainerStatuses: list(ended)}, true},
		"pod unknown, not over":      {nil, v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: list(ended)}, false},
		"deleted":                    {deleted, v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: list(ended)}, true},
		"deleted before it began":    {deleted, v1.PodStatus{Phase: v1.PodPending, ContainerStatuses: list(waits)}, true},
		"restarts":                   {&v1.Pod{}, v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: list(waits)}, false},
		"one runs":                   {deleted, v1.PodStatus{ContainerStatuses: list(ended, runs)}, false},
		"a sidecar runs":             {deleted, v1.PodStatus{ContainerStatuses: list(ended), InitContainerStatuses: list(runs)}, false},
		"an ephemeral one runs":      {deleted, v1.PodStatus{ContainerStatuses: list(ended), EphemeralContainerStatuses: list(runs)}, false},
		"nothing is known of it yet": {deleted, v1.PodStatus{}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, outbox.IsPodStopping(c.pod, &c.status)) })
	}
}
