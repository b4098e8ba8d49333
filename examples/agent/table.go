package main

import (
	"context"
	"fmt"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podkeel/podkeel/internal/plain"
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

const format = "%-28s  %-5s  %-22s  %-14s  %s\n"

// lineOf is how a pod is shown.
func lineOf(state node.PodState) line {
	s := state.Summary()
	return line{plain.Visible(displayName(state.Pod)), s.Ready, plain.Visible(s.Status), s.Restarts}
}

// heading are the names of the columns.
func heading() []string { return []string{"NAME", "READY", "STATUS", "RESTARTS", "AGE"} }

// cells are a line with what depends on the time.
func (t *table) cells(l line, pod *v1.Pod) []string {
	return []string{l.name, l.ready, l.status, t.restarts(pod, l.restarts), t.age(pod)}
}

// print prints a row.
func (t *table) print(cells []string) error {
	_, err := fmt.Fprintf(t.out, format, cells[0], cells[1], cells[2], cells[3], cells[4])
	return err
}

// run implements face: a line is printed when it is shown.
func (t *table) run(ctx context.Context) { <-ctx.Done() }

// show prints the pod, if there is something new in its line. The error is that
// of writing.
func (t *table) show(state node.PodState) error {
	uid, l := state.Pod.UID, lineOf(state)
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
		if err := t.print(heading()); err != nil {
			return err
		}
	}
	return t.print(t.cells(l, state.Pod))
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

// age is how long ago the pod was created, or the node has taken up one of which that is not known.
func (t *table) age(pod *v1.Pod) string {
	if !pod.CreationTimestamp.IsZero() {
		return t.since(pod.CreationTimestamp.Time)
	}
	if pod.Status.StartTime == nil {
		return t.since(t.now())
	}
	return t.since(pod.Status.StartTime.Time)
}

// since rounds as kubectl does.
func (t *table) since(past time.Time) string {
	return duration.HumanDuration(max(t.now().Sub(past), 0))
}
