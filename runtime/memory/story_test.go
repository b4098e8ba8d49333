package memory_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// Each command of a story is a call by a client process in a simulation. Its output is everything
// that happens until the next command. Times are since the beginning.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newHarness()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return w.runCommand(t, d)
		})
		w.client.Crash()
		w.watcher.Crash()
		require.Zero(t, w.machine.Waiters())
	})
}

// harness is a machine, a client that can crash, and a client that watches.
type harness struct {
	s       *executor.Scheduler
	machine *memory.Runtime
	client  *executor.Process
	rt      *memory.Runtime // the client's view
	watcher *executor.Process
	began   time.Time
	said    []line
	names   map[string]string // of IDs
	ids     map[string]string // by name
}

// line is a line of output. Its text is formatted at the end of a command, when all names are
// known.
type line struct {
	at    time.Duration
	event bool
	text  func() string
}

func newHarness() *harness {
	w := &harness{began: time.Unix(1_700_000_000, 0).UTC(), names: map[string]string{}, ids: map[string]string{}}
	w.s = executor.NewScheduler(1, w.began)
	w.machine = memory.New(memory.Config{Clock: w.s.NewProcess().Clock(), Images: []string{"busybox"}})
	w.restartClient()
	w.watcher = w.s.NewProcess()
	w.watcher.Go(func() {
		for {
			err := w.machine.WithClock(w.watcher.Clock()).Events(context.Background(), w.addEvent)
			if errors.Is(err, executor.ErrCrashed) {
				return
			}
			w.addLine("the event stream ends: %v", err)
			_ = executor.Over(w.watcher.Clock()).Sleep(context.Background(), time.Second)
		}
	})
	w.s.RunUntilIdle()
	return w
}

// restartClient replaces the process of the client.
func (w *harness) restartClient() {
	w.client = w.s.NewProcess()
	w.rt = w.machine.WithClock(w.client.Clock())
}

func (w *harness) addLine(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.said = append(w.said, line{w.s.Now().Sub(w.began), false, func() string { return text }})
}

func (w *harness) addEvent(e runtime.Event) {
	w.said = append(w.said, line{w.s.Now().Sub(w.began), true, func() string {
		what := w.names[e.ContainerID]
		if what == "" {
			what = string(e.UID)
		}
		return "event " + what
	}})
}

// runCommand runs one command of a story.
func (w *harness) runCommand(t *testing.T, d *datadriven.TestData) string {
	w.said = nil
	switch d.Cmd {
	case "parse":
		return parseAndPrint(d.Input, memory.ParseScript)
	case "parse-answers":
		return parseAndPrint(d.Input, memory.ParseAnswers)
	case "command":
		return printCommands(d.Input)
	case "advance":
		span, err := time.ParseDuration(d.CmdArgs[0].Key)
		require.NoError(t, err)
		w.s.RunUntil(w.s.Now().Add(span))
	case "crash":
		w.client.Crash()
		w.restartClient()
		w.s.RunUntilIdle()
	case "show":
		return w.formatRecords(t)
	case "exit", "lose", "lose-sandbox", "kill-sandbox", "lose-all", "status", "no-pull", "break-events", "script", "answers", "asked", "resources":
		w.changeMachine(t, d)
	default:
		call := w.newCall(t, d)
		w.client.Go(func() { w.addLine("%s: %s", strings.Join(append([]string{d.Cmd}, argTexts(d)...), " "), call()) })
	}
	w.s.RunUntilIdle()
	return w.takeOutput()
}

// takeOutput returns the output, sorted where the order is the scheduler's choice:
// replies that come at one time, and whether they or the events come first.
func (w *harness) takeOutput() string {
	slices.SortStableFunc(w.said, func(a, b line) int {
		order := cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(boolToInt(a.event), boolToInt(b.event)))
		if order == 0 && !a.event {
			return cmp.Compare(a.text(), b.text())
		}
		return order
	})
	var out strings.Builder
	for _, l := range w.said {
		fmt.Fprintln(&out, l.at, l.text())
	}
	return out.String()
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func argTexts(d *datadriven.TestData) (out []string) {
	for _, a := range d.CmdArgs {
		out = append(out, a.String())
	}
	return out
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ok"
}

// newCall returns the call of a command.
func (w *harness) newCall(t *testing.T, d *datadriven.TestData) func() string {
	var uid, name, image string
	var attempt uint32
	var grace, timeout int
	d.MaybeScanArgs(t, "pod", &uid)
	d.MaybeScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "image", &image)
	d.MaybeScanArgs(t, "grace", &grace)
	d.MaybeScanArgs(t, "timeout", &timeout)
	var n int
	d.MaybeScanArgs(t, "attempt", &n)
	attempt = uint32(n)
	ref := runtime.PodRef{UID: types.UID(uid), Name: uid, Namespace: "default", Incarnation: 1}
	if uid == "" {
		ref = runtime.PodRef{}
	}
	sandboxKey, key := fmt.Sprintf("%s.%d", uid, attempt), uid+"/"+name
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	id := func(key string) string {
		if id, ok := w.ids[key]; ok {
			return id
		}
		return key
	}
	saying := func(f func(context.Context) (string, error)) func() string {
		return func() string {
			if timeout > 0 {
				ctx, cancel = executor.Over(w.client.Clock()).WithDeadline(ctx, w.s.Now().Add(time.Duration(timeout)*time.Second))
			}
			defer cancel()
			said, err := f(ctx)
			if err != nil {
				return strings.TrimSpace(said + " " + err.Error())
			}
			return said
		}
	}
	within := func(f func(context.Context) error) func() string {
		return saying(func(ctx context.Context) (string, error) {
			if err := f(ctx); err != nil {
				return "", err
			}
			return "ok", nil
		})
	}
	switch d.Cmd {
	case "sandbox":
		req := runtime.RunSandboxRequest{Pod: ref, Attempt: attempt, Annotations: parseAnnotations(d.Input)}
		req.Namespaces.HostNetwork = d.HasArg("host")
		return within(func(ctx context.Context) error {
			id, err := w.rt.RunSandbox(ctx, req)
			w.storeName(sandboxKey, id)
			return err
		})
	case "stop-sandbox":
		return within(func(ctx context.Context) error {
			return w.rt.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: id(sandboxKey)})
		})
	case "remove-sandbox":
		return within(func(ctx context.Context) error {
			return w.rt.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: id(sandboxKey)})
		})
	case "create":
		in := 0
		d.MaybeScanArgs(t, "in", &in)
		req := runtime.CreateContainerRequest{
			Pod: ref, SandboxID: id(fmt.Sprintf("%s.%d", uid, in)), Name: name, Attempt: attempt,
			Image: "busybox", Command: strings.Fields(d.Input),
		}
		return within(func(ctx context.Context) error {
			id, err := w.rt.CreateContainer(ctx, req)
			w.storeName(key, id)
			return err
		})
	case "start":
		return within(func(ctx context.Context) error {
			return w.rt.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id(key)})
		})
	case "stop":
		return within(func(ctx context.Context) error {
			return w.rt.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: id(key), Grace: time.Duration(grace) * time.Second})
		})
	case "remove":
		return within(func(ctx context.Context) error {
			return w.rt.RemoveContainer(ctx, runtime.RemoveContainerRequest{ContainerID: id(key)})
		})
	case "pull":
		return within(func(ctx context.Context) error {
			_, err := w.rt.PullImage(ctx, runtime.PullImageRequest{Image: image, Pod: ref, Container: name})
			return err
		})
	case "image":
		return within(func(ctx context.Context) error {
			_, err := w.rt.ImageStatus(ctx, runtime.ImageStatusRequest{Image: image, Pod: ref, Container: name})
			return err
		})
	case "ask":
		var purpose string
		d.ScanArgs(t, "purpose", &purpose)
		return saying(func(ctx context.Context) (string, error) {
			a, err := w.rt.RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: id(key), Purpose: runtime.Purpose(purpose)})
			if err != nil {
				return "", err
			}
			return strings.TrimSpace(map[bool]string{true: "yes ", false: "no "}[a.OK] + a.Message), nil
		})
	case "exec":
		req := runtime.ExecRequest{ContainerID: id(key), Command: strings.Split(d.Input, "|")}
		d.MaybeScanArgs(t, "limit", &req.OutputLimit)
		if d.Input == "" {
			req.Command = nil
		}
		return saying(func(ctx context.Context) (string, error) {
			res, err := w.rt.Exec(ctx, req)
			if err != nil {
				return "", err
			}
			return strings.TrimSpace(fmt.Sprintf("%d %s", res.ExitCode, quoteText(string(res.Output)))), nil
		})
	case "log":
		req := runtime.ReadLogRequest{ContainerID: id(key), Follow: d.HasArg("follow")}
		d.MaybeScanArgs(t, "tail", &req.Tail)
		if d.HasArg("since") {
			var since int
			d.ScanArgs(t, "since", &since)
			req.Since = w.began.Add(time.Duration(since) * time.Second)
		}
		return within(func(ctx context.Context) error {
			return w.rt.ReadLog(ctx, req, writer(func(text string) { w.addLine("%s", quoteText(text)) }))
		})
	case "update":
		res := runtime.Resources{}
		var memory int
		d.MaybeScanArgs(t, "memory", &memory)
		d.MaybeScanArgs(t, "cpuset", &res.CPUSet)
		res.MemoryBytes = int64(memory)
		return within(func(ctx context.Context) error {
			return w.rt.UpdateContainer(ctx, runtime.UpdateContainerRequest{ContainerID: id(key), Resources: res})
		})
	case "stats":
		return saying(func(ctx context.Context) (string, error) {
			stats, err := w.rt.PodStats(ctx, ref.UID)
			var out strings.Builder
			for _, s := range stats.Containers {
				used := time.Duration(*s.CPU.UsageCoreNanoSeconds)
				fmt.Fprintf(&out, "[%s at %s: %s %d disk=%d]", w.names[s.ContainerID], s.CPU.At.Sub(w.began), used, *s.Memory.WorkingSetBytes, *s.Filesystem.UsedBytes)
			}
			if stats.Network != nil {
				i := stats.Network.Interfaces[0]
				fmt.Fprintf(&out, "[%s received %d sent %d]", i.Name, *i.RxBytes, *i.TxBytes)
			}
			return out.String(), err
		})
	case "list":
		return within(func(ctx context.Context) error {
			_, err := w.rt.ListPods(ctx)
			return err
		})
	}
	d.Fatalf(t, "no such command")
	return nil
}

// writer is a function that implements io.Writer.
type writer func(string)

func (f writer) Write(p []byte) (int, error) { f(string(p)); return len(p), nil }

// quoteText formats a text in one line.
func quoteText(text string) string {
	if text == "" {
		return ""
	}
	return strconv.Quote(text)
}

func (w *harness) storeName(key, id string) {
	if id != "" {
		w.ids[key], w.names[id] = id, key
	}
}

func (w *harness) changeMachine(t *testing.T, d *datadriven.TestData) {
	key := ""
	if len(d.CmdArgs) > 0 {
		key = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "exit":
		var code int
		d.ScanArgs(t, "code", &code)
		w.addLine("%s", errorText(w.machine.ExitContainer(w.ids[key], int32(code))))
	case "lose":
		w.addLine("%s", errorText(w.machine.LoseContainer(w.ids[key])))
	case "lose-sandbox":
		w.addLine("%s", errorText(w.machine.LoseSandbox(w.ids[key])))
	case "kill-sandbox":
		w.addLine("%s", errorText(w.machine.KillSandbox(w.ids[key])))
	case "lose-all":
		w.machine.LoseAll()
	case "status":
		w.machine.SetStatus(runtime.RuntimeStatus{
			RuntimeReady: !d.HasArg("down"), NetworkReady: !d.HasArg("no-network"),
			RuntimeMessage: "it is down", NetworkMessage: "no network plugin",
		})
	case "no-pull":
		w.machine.FailPulls(key, errors.New("no such registry"))
	case "break-events":
		w.machine.BreakEvents(nil)
	case "script":
		script, err := memory.ParseScript(d.Input)
		require.NoError(t, err)
		w.machine.SetScript(memory.Selector{Name: key}, script)
	case "answers":
		var purpose string
		d.ScanArgs(t, "purpose", &purpose)
		var answers memory.Answers
		if d.Input != "" {
			var err error
			answers, err = memory.ParseAnswers(d.Input)
			require.NoError(t, err)
		}
		w.machine.SetAnswers(memory.Selector{Name: key}, runtime.Purpose(purpose), answers)
	case "resources":
		res, ok := w.machine.Resources(w.ids[key])
		require.True(t, ok)
		w.addLine("memory=%d cpuset=%s", res.MemoryBytes, res.CPUSet)
	case "asked":
		uid, name, _ := strings.Cut(key, "/")
		for _, purpose := range []runtime.Purpose{"liveness", "readiness", "startup", "post-start", "pre-stop"} {
			if n := w.machine.HandlerCalls(types.UID(uid), name, purpose); n > 0 {
				w.addLine("%s %d", purpose, n)
			}
		}
	}
}

// formatRecords prints the records as the machine's own client sees them.
func (w *harness) formatRecords(t *testing.T) string {
	var out strings.Builder
	list, err := w.machine.ListPods(t.Context())
	require.NoError(t, err)
	since := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return at.Sub(w.began).String()
	}
	for _, p := range list {
		st, err := w.machine.PodStatus(t.Context(), p.UID)
		require.NoError(t, err)
		for i, s := range st.Sandboxes {
			require.Equal(t, p.Sandboxes[i], s.Sandbox)
			fmt.Fprintf(&out, "%s ready=%v ips=%v\n", w.names[s.ID], s.Ready, s.IPs)
		}
		for i, c := range st.Containers {
			require.Equal(t, p.Containers[i], c.Container)
			fmt.Fprintf(&out, "  %s %d in %s: %s, created %s, ran %s to %s", c.Name, c.Attempt, w.names[c.SandboxID], c.State, since(c.CreatedAt), since(c.StartedAt), since(c.FinishedAt))
			if c.State == runtime.StateExited {
				fmt.Fprintf(&out, ", %s %d", c.Reason, c.ExitCode)
			}
			if c.Message != "" && c.ExitCode != 128 {
				fmt.Fprintf(&out, " %q", c.Message)
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// parseAnnotations reads lines of a container's name and its script.
func parseAnnotations(input string) map[string]string {
	set := map[string]string{}
	for line := range strings.Lines(input) {
		if name, script, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			set[memory.AnnotationPrefix+name] = script
		}
	}
	return set
}

// parseAndPrint reads each line as a script and prints it as it was understood.
func parseAndPrint[S fmt.Stringer](input string, read func(string) (S, error)) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		script, err := read(strings.TrimSuffix(line, "\n"))
		if err != nil {
			text, _, _ := strings.Cut(err.Error(), "; allowed are")
			fmt.Fprintln(&out, text)
			continue
		}
		fmt.Fprintln(&out, script)
		again, err := read(script.String())
		if err != nil || again.String() != script.String() {
			fmt.Fprintln(&out, "does not survive being written down:", again, err)
		}
	}
	return out.String()
}

// printCommands prints the run of each line, whose words are separated by | signs.
func printCommands(input string) string {
	if input == "" {
		return memory.CommandRun(nil).String()
	}
	var out strings.Builder
	for line := range strings.Lines(input) {
		argv := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		fmt.Fprintln(&out, memory.CommandRun(argv))
	}
	return out.String()
}
