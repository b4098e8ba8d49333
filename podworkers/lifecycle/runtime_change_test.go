package lifecycle_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// runtimeChange runs a block of testdata/news.txt. The input of "news" is the status that the
// failed call was given, a line "--", and the status now. With the argument unknown there is no
// earlier observation. A line is a record:
//
//	sandbox ID ready|gone [ip=ADDRESS] [host]
//	container ID STATE [code=N] [reason=WORD] [finished=SECONDS]
func runtimeChange(t *testing.T, d *datadriven.TestData) string {
	before, now, _ := strings.Cut(d.Input+"\n", "--\n")
	was := podStatus(t, before)
	if d.HasArg("unknown") {
		was = nil
	}
	if change := lifecycle.RuntimeChange(was, podStatus(t, now)); change != "" {
		return change + "\n"
	}
	return "an echo\n"
}

func podStatus(t *testing.T, text string) *runtime.PodStatus {
	st := &runtime.PodStatus{UID: "a"}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		args := map[string]string{}
		for _, word := range words[3:] {
			key, value, _ := strings.Cut(word, "=")
			args[key] = value
		}
		switch words[0] {
		case "sandbox":
			s := runtime.SandboxStatus{Sandbox: runtime.Sandbox{ID: words[1], Ready: words[2] == "ready"}}
			_, s.HostNetwork = args["host"]
			if ip := args["ip"]; ip != "" {
				s.IPs = []string{ip}
			}
			st.Sandboxes = append(st.Sandboxes, s)
		case "container":
			c := runtime.ContainerStatus{Container: runtime.Container{ID: words[1], Name: words[1]}, Reason: args["reason"]}
			for c.State = runtime.StateUnknown; c.State.String() != words[2]; c.State++ {
				if c.State > runtime.StateExited {
					t.Fatalf("bad state %q", words[2])
				}
			}
			if words[2] == "unknown" {
				c.State = runtime.StateUnknown
			}
			code, _ := strconv.Atoi(args["code"])
			c.ExitCode = int32(code)
			if seconds, err := strconv.Atoi(args["finished"]); err == nil {
				c.FinishedAt = time.Unix(int64(seconds), 0)
			}
			st.Containers = append(st.Containers, c)
		default:
			t.Fatalf("bad line %q", line)
		}
	}
	return st
}
