package main

import (
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/node"
)

// table prints a line for every change of a pod, in the manner of
// kubectl get pods -w.
type table struct {
	out   io.Writer
	now   func() time.Time
	begun bool
	last  map[types.UID]string
}

func newTable(out io.Writer) *table {
	return &table{out: out, now: time.Now, last: make(map[types.UID]string)}
}

const row = "%-30s  %-5s  %-22s  %-8s  %s\n"

// show prints the pod unless its line, but for the age, is the one printed
// last.
func (t *table) show(state node.PodState) {
	uid := state.Pod.UID
	s := state.Summary()
	if state.Gone {
		s.Status = "Gone"
	}
	name := state.Pod.Name
	if state.Pod.Namespace != "default" {
		name = state.Pod.Namespace + "/" + name
	}
	line := fmt.Sprint(name, s.Ready, s.Status, s.Restarts)
	if line == t.last[uid] {
		return
	}
	t.last[uid] = line
	if state.Gone {
		delete(t.last, uid)
	}
	if !t.begun {
		t.begun = true
		fmt.Fprintf(t.out, row, "NAME", "READY", "STATUS", "RESTARTS", "AGE")
	}
	fmt.Fprintf(t.out, row, name, s.Ready, s.Status, fmt.Sprint(s.Restarts), age(state, t.now()))
}

// age is how long the agent has known the pod's start.
func age(state node.PodState, now time.Time) string {
	start := state.Pod.Status.StartTime
	if start == nil {
		return "0s"
	}
	d := max(now.Sub(start.Time), 0)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
