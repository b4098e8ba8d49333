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

// rowPrinter prints a line for every change of a pod, like kubectl get pods -w.
type rowPrinter struct {
	out            io.Writer
	now            func() time.Time
	headingPrinted bool
	shownRows      map[types.UID]podRow
}

// podRow is the part of a pod's row that does not depend on the time.
type podRow struct {
	name, ready, status string
	restarts            int32
}

// newRowPrinter returns a rowPrinter that writes to out.
func newRowPrinter(out io.Writer) *rowPrinter {
	return &rowPrinter{out: out, now: time.Now, shownRows: make(map[types.UID]podRow)}
}

const format = "%-28s  %-5s  %-22s  %-14s  %s\n"

// podRowOf returns the row of a pod for the table: name, ready containers, status and restarts. It escapes
// control characters.
func podRowOf(state node.PodState) podRow {
	s := state.Summary()
	return podRow{plain.Visible(nameWithoutDefaultNamespace(state.Pod)), s.Ready, plain.Visible(s.Status), s.Restarts}
}

// columnHeadings returns the names of the columns.
func columnHeadings() []string { return []string{"NAME", "READY", "STATUS", "RESTARTS", "AGE"} }

// rowCells returns the cells of a row, with the age of the pod and the time since its last restart.
func (t *rowPrinter) rowCells(row podRow, pod *v1.Pod) []string {
	return []string{row.name, row.ready, row.status, t.restartsText(pod, row.restarts), t.ageText(pod)}
}

// printCells prints the cells of a row.
func (t *rowPrinter) printCells(cells []string) error {
	_, err := fmt.Fprintf(t.out, format, cells[0], cells[1], cells[2], cells[3], cells[4])
	return err
}

// drawUntilDone implements podView. It draws nothing and only waits until it is done, because updatePod prints
// each row at once.
func (t *rowPrinter) drawUntilDone(ctx context.Context) { <-ctx.Done() }

// updatePod implements podView. It prints the row of a pod if the row has changed. For a pod that is gone it
// prints a row with the status Gone, unless the table shows another pod with the same name. Before the first
// row it prints the headings. It returns an error if the output fails.
func (t *rowPrinter) updatePod(state node.PodState) error {
	uid, l := state.Pod.UID, podRowOf(state)
	if state.Gone {
		delete(t.shownRows, uid)
		if t.hasShownRowNamed(l.name) {
			return nil // The pod that replaced it is in the table, so the name is not gone.
		}
		l.status = "Gone"
	} else if l == t.shownRows[uid] {
		return nil
	} else {
		t.shownRows[uid] = l
	}
	if !t.headingPrinted {
		t.headingPrinted = true
		if err := t.printCells(columnHeadings()); err != nil {
			return err
		}
	}
	return t.printCells(t.rowCells(l, state.Pod))
}

// hasShownRowNamed reports whether a row of the table shows a pod of this name.
func (t *rowPrinter) hasShownRowNamed(name string) bool {
	for _, l := range t.shownRows {
		if l.name == name {
			return true
		}
	}
	return false
}

// nameWithoutDefaultNamespace returns the name of a pod, with its namespace unless that is default.
func nameWithoutDefaultNamespace(pod *v1.Pod) string {
	if pod.Namespace == v1.NamespaceDefault {
		return pod.Name
	}
	return pod.Namespace + "/" + pod.Name
}

// restartsText formats the number of restarts, and how long ago a container was last terminated if that is
// known.
func (t *rowPrinter) restartsText(pod *v1.Pod, n int32) string {
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
	return fmt.Sprintf("%d (%s ago)", n, t.timeSince(last))
}

// ageText formats the time since the pod was created, or since its start time if the creation time is not set.
// If neither is set, the age is 0.
func (t *rowPrinter) ageText(pod *v1.Pod) string {
	if !pod.CreationTimestamp.IsZero() {
		return t.timeSince(pod.CreationTimestamp.Time)
	}
	if pod.Status.StartTime == nil {
		return t.timeSince(t.now())
	}
	return t.timeSince(pod.Status.StartTime.Time)
}

// timeSince formats the time from past until now as kubectl does. It formats a time in the future as 0.
func (t *rowPrinter) timeSince(past time.Time) string {
	return duration.HumanDuration(max(t.now().Sub(past), 0))
}
