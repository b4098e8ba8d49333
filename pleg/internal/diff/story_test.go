package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// TestStories runs the text stories. Commands:
//
//	compare   the status before, "--", the status now: the events
//	news      the same: whether a failure may lack its reason, and whether only records
//	          were lost; an empty first part is no status
//	amend     the same: the corrected status, and the exited containers that were not exited now
//	lists     two listings of pods: the indexes that changed
//
// A line is "sandbox ID ready|gone [ip=…] [inc=N] [host]" or "container ID
// created|running|exited|unknown|9 [code=N] [reason=WORD]"; in a listing "pod UID" begins a pod.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			before, now, _ := strings.Cut(d.Input+"\n", "--\n")
			switch d.Cmd {
			case "compare":
				return compareStatuses(parseStatus(t, before), parseStatus(t, now))
			case "news":
				b, n := parseStatus(t, before), parseStatus(t, now)
				if before == "" {
					b = nil
				}
				return fmt.Sprintf("reasonmayfollow=%v onlylost=%v\n", diff.ReasonMayFollow(b, n), diff.OnlyLost(b, n))
			case "amend":
				return amendStatus(parseStatus(t, before), parseStatus(t, now))
			case "lists":
				changed, sameOrder := diff.Lists(nil, parseListing(t, before), parseListing(t, now))
				return fmt.Sprintf("sameorder=%v changed=%v\n", sameOrder, changed)
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

func compareStatuses(before, now *runtime.PodStatus) string {
	names := map[diff.Events]string{diff.Started: "started", diff.Died: "died", diff.Removed: "removed", diff.Changed: "changed"}
	events := diff.Compare(diff.Items(nil, before), diff.Items(nil, now))
	var all []string
	for _, e := range []diff.Events{diff.Started, diff.Died, diff.Removed, diff.Changed} {
		if events&e != 0 {
			all = append(all, names[e])
		}
	}
	if len(all) == 0 {
		all = []string{"nothing"}
	}
	return fmt.Sprintf("%s, equal=%v\n", strings.Join(all, " "), diff.Equal(before, now))
}

func amendStatus(before, now *runtime.PodStatus) string {
	amended, revived := diff.Amend(before, now)
	var b strings.Builder
	for _, s := range amended.Sandboxes {
		fmt.Fprintf(&b, "sandbox %s ready=%v ips=%v\n", s.ID, s.Ready, s.IPs)
	}
	for _, c := range amended.Containers {
		fmt.Fprintf(&b, "container %s %v code=%d\n", c.ID, c.State, c.ExitCode)
	}
	fmt.Fprintf(&b, "copied=%v revived=%v\n", amended != now, revived)
	return b.String()
}

func parseStatus(t *testing.T, text string) *runtime.PodStatus {
	s := &runtime.PodStatus{UID: "a"}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch f[0] {
		case "sandbox":
			s.Sandboxes = append(s.Sandboxes, parseSandbox(t, f[1:]))
		case "container":
			s.Containers = append(s.Containers, parseContainer(t, f[1:]))
		default:
			t.Fatalf("bad line %q", line)
		}
	}
	return s
}

func parseSandbox(t *testing.T, f []string) runtime.SandboxStatus {
	s := runtime.SandboxStatus{Sandbox: runtime.Sandbox{ID: f[0], Ready: f[1] == "ready"}}
	for _, arg := range f[2:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "ip":
			s.IPs = append(s.IPs, value)
		case "inc":
			scanText(t, value, &s.Incarnation)
		case "host":
			s.HostNetwork = true
		}
	}
	return s
}

func parseContainer(t *testing.T, f []string) runtime.ContainerStatus {
	c := runtime.ContainerStatus{Container: runtime.Container{ID: f[0]}}
	switch f[1] {
	case "created":
		c.State = runtime.StateCreated
	case "running":
		c.State = runtime.StateRunning
	case "exited":
		c.State = runtime.StateExited
	case "unknown":
	default:
		scanText(t, f[1], &c.State)
	}
	for _, arg := range f[2:] {
		if reason, ok := strings.CutPrefix(arg, "reason="); ok {
			c.Reason = reason
			continue
		}
		scanText(t, strings.TrimPrefix(arg, "code="), &c.ExitCode)
	}
	return c
}

func parseListing(t *testing.T, text string) []runtime.Pod {
	var pods []runtime.Pod
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if f[0] == "pod" {
			pods = append(pods, runtime.Pod{UID: types.UID(f[1])})
			continue
		}
		p := &pods[len(pods)-1]
		if f[0] == "sandbox" {
			p.Sandboxes = append(p.Sandboxes, parseSandbox(t, f[1:]).Sandbox)
		} else {
			p.Containers = append(p.Containers, parseContainer(t, f[1:]).Container)
		}
	}
	return pods
}

func scanText(t *testing.T, text string, into any) {
	t.Helper()
	if _, err := fmt.Sscan(text, into); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}
