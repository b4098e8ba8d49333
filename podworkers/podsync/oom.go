package podsync

import (
	"fmt"
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// OOMReport says that the kernel killed processes of a container because memory ran out.
type OOMReport struct {
	UID       types.UID
	Container string
	// Limit is the limit that was reached.
	Limit plan.OOMLimit
	// Kills is the number of killed processes since the last report of the container. Zero: the number
	// is unknown.
	Kills int64
}

const (
	// reasonOOMKilled is the reason that a runtime gives to a container if memory ran out in its pod.
	reasonOOMKilled = "OOMKilled"
	// exitCodeSIGKILL is the exit code of a container whose main process was killed.
	exitCodeSIGKILL = 137
)

// oomTextPrefix is the beginning of the text about killed processes in a termination message. The text
// contains no ": ", so that it can be found in the message again.
const oomTextPrefix = "the kernel killed "

// oomState has the counters of a pod's cgroup from the last read, and the reports so far.
type oomState struct {
	last       plan.OOMSnapshot
	examined   map[string]runtime.State  // by container ID: the state in which it was compared with the counters
	reports    map[string]plan.OOMReport // by container ID: the sum of the reports of this process
	texts      map[string]string         // by container ID: the text that an earlier process has published
	readFailed bool                      // the last read has failed
}

// observeOOM calls readOOM if a container of the pod has exited or runs with the reason OOMKilled and was not examined
// yet, and in the first pass over the pod.
func (w *statusWriter) observeOOM() {
	if w.oomReader != nil && w.hasUnexaminedOOM() {
		w.readOOM()
	}
}

// readOOM reads the counters of the pod's cgroup, compares them with the last counters and calls Hooks.OOMKilled for each
// container that has lost a process. It does nothing unless Config.Cgroups is an OOMReader. After an error the next pass
// reads again.
//
// On cgroup v1 the counters of a container disappear with its cgroup, which the runtime removes when the container exits.
// If the runtime does not report the kill, a kill of a child process after the last read is then not known. On cgroup v2
// the counters of the pod include it.
func (w *statusWriter) readOOM() {
	if w.oomReader == nil {
		return
	}
	if w.incarnation.oom == nil {
		w.incarnation.oom = &oomState{}
	}
	o := w.incarnation.oom
	snapshot, err := w.readOOMCounters()
	if err != nil {
		if !o.readFailed {
			w.cfg.Log.Warn("cannot read whether the kernel has killed processes of a pod", "pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "err", err)
		}
		o.readFailed = true
		return
	}
	if o.examined == nil {
		w.adoptPublishedOOM()
	}
	reports := plan.DecideOOM(o.last, snapshot, w.unexaminedOOMContainers())
	o.last, o.readFailed = snapshot, false
	w.markOOMExamined()
	for _, r := range reports {
		o.addReport(r)
		w.cfg.Hooks.OOMKilled(OOMReport{UID: w.pod.UID, Container: r.Container, Limit: r.Limit, Kills: r.Kills})
	}
}

// readOOMCounters calls Config.Cgroups and returns the result. It recovers a panic of the call and returns it
// as an error.
func (w *statusWriter) readOOMCounters() (snapshot plan.OOMSnapshot, err error) {
	if fault := w.guard.Call("Cgroups.ReadOOM", func() { snapshot, err = w.oomReader.ReadOOM(w.pod.UID) }); fault != nil {
		return plan.OOMSnapshot{}, fault
	}
	return snapshot, err
}

// hasUnexaminedOOM reports whether a container has exited, or has the reason OOMKilled, and was not
// compared with the counters yet. It returns true if the counters of the pod were never read.
func (w *statusWriter) hasUnexaminedOOM() bool {
	if w.incarnation.oom == nil || w.incarnation.oom.examined == nil {
		return true
	}
	for i := range w.status.Containers {
		if w.needsOOMExamination(&w.status.Containers[i]) {
			return true
		}
	}
	return false
}

// needsOOMExamination reports whether a container of this pod has exited, or runs with the reason
// OOMKilled, and was not compared with the counters in that state. containerd sets that reason when a child
// process of the container is killed.
func (w *statusWriter) needsOOMExamination(c *runtime.ContainerStatus) bool {
	exited, childKilled := c.State == runtime.StateExited, c.State == runtime.StateRunning && c.Reason == reasonOOMKilled
	return c.Incarnation == w.incarnation.number && (exited || childKilled) && w.incarnation.oom.examined[c.ID] != c.State
}

// unexaminedOOMContainers returns the running containers of the pod, and the exited containers that were
// not examined yet.
func (w *statusWriter) unexaminedOOMContainers() (containers []plan.OOMContainer) {
	specs := podspec.AllAndEphemeralContainers(w.pod)
	for i := range w.status.Containers {
		rec := &w.status.Containers[i]
		exited := rec.State == runtime.StateExited
		if rec.Incarnation != w.incarnation.number || !exited && rec.State != runtime.StateRunning || exited && !w.needsOOMExamination(rec) {
			continue
		}
		c := plan.OOMContainer{Name: rec.Name, ID: rec.ID, Exited: exited, ReportedOOM: rec.Reason == reasonOOMKilled}
		c.Killed = exited && rec.ExitCode == exitCodeSIGKILL && w.incarnation.memory.Stop(rec.ID).By.IsZero()
		if spec := podspec.FindContainer(specs, rec.Name); spec != nil {
			_, c.HasLimit = spec.Resources.Limits[v1.ResourceMemory]
		}
		containers = append(containers, c)
	}
	return containers
}

// markOOMExamined stores that all containers with a record were compared with the counters, and forgets
// containers without a record.
func (w *statusWriter) markOOMExamined() {
	o := w.incarnation.oom
	examined := make(map[string]runtime.State, len(w.status.Containers))
	for i := range w.status.Containers {
		if rec := &w.status.Containers[i]; rec.State == runtime.StateExited || rec.Reason == reasonOOMKilled {
			examined[rec.ID] = rec.State
		}
	}
	o.examined = examined
	maps.DeleteFunc(o.reports, func(id string, _ plan.OOMReport) bool { return w.containerRecord(id) == nil })
	maps.DeleteFunc(o.texts, func(id, _ string) bool { return w.containerRecord(id) == nil })
}

// adoptPublishedOOM makes the published exits of containers count as examined, and stores the texts that
// their messages have. So an agent that has restarted does not report the kills of an earlier process
// again, and does not remove the texts.
func (w *statusWriter) adoptPublishedOOM() {
	o := w.incarnation.oom
	o.examined, o.reports, o.texts = map[string]runtime.State{}, map[string]plan.OOMReport{}, map[string]string{}
	w.readPublishedStatus(func(status *v1.PodStatus) {
		for _, list := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
			for i := range list {
				o.adoptExit(list[i].State.Terminated, w.cfg.RuntimeName)
				o.adoptExit(list[i].LastTerminationState.Terminated, w.cfg.RuntimeName)
			}
		}
	})
}

// adoptExit makes a published exit count as examined and stores the text of its message.
func (o *oomState) adoptExit(exit *v1.ContainerStateTerminated, runtimeName string) {
	if exit == nil {
		return
	}
	id, ours := strings.CutPrefix(exit.ContainerID, runtimeName+"://")
	if !ours {
		return
	}
	o.examined[id] = runtime.StateExited
	if at := strings.Index(exit.Message, oomTextPrefix); at >= 0 {
		o.texts[id], _, _ = strings.Cut(exit.Message[at:], ": ")
	}
}

// addReport adds a report to the sum of the earlier reports of the container. If one of the numbers is
// unknown, the sum is unknown.
func (o *oomState) addReport(r plan.OOMReport) {
	if old, ok := o.reports[r.ID]; ok && old.Kills == 0 {
		r.Kills = 0
	} else if r.Kills > 0 {
		r.Kills += old.Kills
	}
	o.reports[r.ID] = r
}

// textAboutKilledProcesses returns the text about killed processes for the termination message of a container.
// It returns "" if no kill was reported.
func (w *statusWriter) textAboutKilledProcesses(id string) string {
	o := w.incarnation.oom
	if o == nil {
		return ""
	}
	r, ok := o.reports[id]
	if !ok {
		return o.texts[id]
	}
	processes := "processes"
	switch r.Kills {
	case 0:
	case 1:
		processes = "1 process"
	default:
		processes = fmt.Sprintf("%d processes", r.Kills)
	}
	return oomTextPrefix + processes + " of the container, because " + oomCauses[r.Limit]
}

// oomCauses has the cause of a kill for each limit.
var oomCauses = map[plan.OOMLimit]string{
	plan.OOMLimitUnknown:   "memory ran out",
	plan.OOMLimitContainer: "the memory limit of the container was reached",
	plan.OOMLimitPod:       "the memory limit of the pod was reached",
	plan.OOMLimitNode:      "the memory of the node, or a limit of several pods, was exhausted",
}
