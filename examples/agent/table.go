package main

import (
	"fmt"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podkeel/podkeel/syncloop/node"
)

// table prints a line for every change of a pod, in the manner of
// kubectl get pods -w.
type table struct {
	out   io.Writer
	now   func() time.Time
	begun bool
	last  map[types.UID]line
}

// line is what a pod was shown with last. Whatever only depends on the time is
// no part of it.
type line struct {
	name, ready, status string
	restarts            int32
}

func newTable(out io.Writer) *table {
	return &table{out: out, now: time.Now, last: make(map[types.UID]line)}
}

const row = "%-28s  %-5s  %-22s  %-14s  %s\n"

// show prints the pod, if there is something new in its line. The error is that
// of writing.
func (t *table) show(state node.PodState) error {
	uid, s := state.Pod.UID, state.Summary()
	l := line{displayName(state.Pod), s.Ready, s.Status, s.Restarts}
	if state.Gone {
		delete(t.last, uid)
		if t.shows(l.name) {
			return nil // Its successor is in the table: the name is not gone.
		}
		l.status = "Gone"
	} else if l == t.last[uid] {
		return nil
	} else {
		t.last[uid] = l
	}
	if !t.begun {
		t.begun = true
		if _, err := fmt.Fprintf(t.out, row, "NAME", "READY", "STATUS", "RESTARTS", "AGE"); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(t.out, row, l.name, l.ready, l.status, t.restarts(state.Pod, l.restarts), t.age(state.Pod))
	return err
}

// shows is true if a pod of this name is in the table.
func (t *table) shows(name string) bool {
	for _, l := range t.last {
		if l.name == name {
			return true
		}
	}
	return false
}

// displayName leaves out the namespace that goes without saying.
func displayName(pod *v1.Pod) string {
	if pod.Namespace == v1.NamespaceDefault {
		return pod.Name
	}
	return pod.Namespace + "/" + pod.Name
}

// restarts is how often containers were started again, and how long ago one of
// them ended last.
func (t *table) restarts(pod *v1.Pod, n int32) string {
	if n == 0 {
		return "0"
	}
	var last time.Time
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if ended := list[i].LastTerminationState.Terminated; ended != nil && ended.FinishedAt.After(last) {
				last = ended.FinishedAt.Time
			}
		}
	}
	if last.IsZero() {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d (%s ago)", n, t.since(last))
}

// age is how long ago the node has taken the pod up.
func (t *table) age(pod *v1.Pod) string {
	if pod.Status.StartTime == nil {
		return t.since(t.now())
	}
	return t.since(pod.Status.StartTime.Time)
}

// since rounds as kubectl does.
func (t *table) since(past time.Time) string {
	return duration.HumanDuration(max(t.now().Sub(past), 0))
}
