package nodetest

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// detailIndent precedes each detail of a line.
const detailIndent = "\n              "

// describeContainerIfDetailed returns transcript lines with the command, environment and mounts of a created
// container. It returns "" if Config.Details is not set.
func (tr *trace) describeContainerIfDetailed(r *runtime.CreateContainerRequest) string {
	if !tr.details {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%srun %q", detailIndent, append(r.Command[:len(r.Command):len(r.Command)], r.Args...))
	for _, v := range r.Env {
		fmt.Fprintf(&b, "%senv %s=%q", detailIndent, v.Name, v.Value)
	}
	for _, m := range r.Mounts {
		fmt.Fprintf(&b, "%smount %s from %s", detailIndent, m.ContainerPath, m.HostPath)
		if m.Image != "" {
			fmt.Fprintf(&b, "image %.19s", m.Image)
		}
		if m.ImageSubPath != "" {
			fmt.Fprintf(&b, " path %s", m.ImageSubPath)
		}
		if m.ReadOnly {
			b.WriteString(" read-only")
		}
	}
	return b.String()
}

// describeMessagesIfDetailed returns transcript lines with the waiting messages of a status's containers, and
// with the reason, exit code and message of their present and last terminations. It returns "" if
// Config.Details is not set.
func (tr *trace) describeMessagesIfDetailed(status *v1.PodStatus) string {
	if !tr.details {
		return ""
	}
	var b strings.Builder
	for _, list := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		for i := range list {
			c := &list[i]
			switch {
			case c.State.Waiting != nil && c.State.Waiting.Message != "":
				fmt.Fprintf(&b, "%s%s: %s: %s", detailIndent, c.Name, c.State.Waiting.Reason, replaceLineBreaks(c.State.Waiting.Message))
			case c.State.Terminated != nil:
				fmt.Fprintf(&b, "%s%s: %s", detailIndent, c.Name, describeTermination(c.State.Terminated))
			}
			if last := c.LastTerminationState.Terminated; last != nil {
				fmt.Fprintf(&b, "%s%s before: %s", detailIndent, c.Name, describeTermination(last))
			}
		}
	}
	return b.String()
}

// describeTermination formats a terminated state as its reason, exit code and message.
func describeTermination(t *v1.ContainerStateTerminated) string {
	return fmt.Sprintf("%s %d %q", t.Reason, t.ExitCode, t.Message)
}
