package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestStories runs the stories in testdata: one pod and one memory runtime, whose calls are the output. A story begins
// with "new" or with the file. "quiet" discards the output of a call. "stale" uses the status of the call before,
// without a new inspection. "do" injects faults of package faulty: FailDone has its effect and returns an error,
// HangDone has its effect and does not return, Lie has no effect and returns success. Commands:
//
//	pod policy=Never init=i main=a,b grace=5 host      lines: script|image|pull|args|poststart|prestop|port|record NAME TEXT,
//	    side=s,t ephemeral=e>a share deletion=5 deadline=5     all-restart NAME CODE; side: restartable init containers
//	sync | terminate [grace=5] | terminated | orphan   one call, with a status from the runtime
//	     [incarnation=2] [cancel=3s] [stale] [reason=Evicted] [quiet] [dies=3s]
//	advance 10s
//	fault verb=StopContainer do=Lie [container=a] [times=1] [skip=1] [latency=3s] [err=exists]
//	trouble kill-sandbox|lose a|lose-all|start a|exit a 3|network down|network up|runtime down|pulls IMAGE
//	begin [a]                                          all containers run, but those named are only created
//	hook NAME prestop [takes=3s] [fail] [hang]         how the next hooks of a container go
//	feature exec|answer|joins|none                     what the runtime can do, from the next boot on
//	crash                                              the agent dies and starts again, the runtime keeps running
//	forget                                             housekeeping: the state of the pod is dropped
//	records                                            what the runtime has
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var st *story
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if st == nil || d.Cmd == "new" {
				st = newStory(t)
			}
			st.t = t
			return st.runCommand(d)
		})
	})
}

// story is one pod on one machine.
type story struct {
	t       *testing.T
	b       simulation
	mem     *memory.Runtime
	faults  *faulty.Faults
	tap     *tap
	store   *store
	syncer  *podsync.Syncer
	pod     *v1.Pod
	last    *runtime.PodStatus
	out     strings.Builder
	hooks   map[string]hookScript // by container and purpose
	feature string
	noted   map[string]string // annotations for begin, by container and name
}

func newStory(t *testing.T) *story {
	st := &story{t: t, pod: &v1.Pod{}, hooks: map[string]hookScript{}, noted: map[string]string{}, feature: "answer"}
	st.b.s = executor.NewScheduler(1, start)
	st.mem = memory.New(memory.Config{Clock: st.b.s.NewProcess().Clock()})
	faults, err := faulty.New(faulty.Config{})
	require.NoError(t, err)
	st.faults = faults
	st.bootAgent()
	return st
}

// bootAgent starts the agent as a new process without state in memory.
func (st *story) bootAgent() {
	st.b.p = st.b.s.NewProcess()
	clk := st.b.p.Clock()
	st.store = &store{write: st.writeLine, statuses: map[types.UID]v1.PodStatus{}}
	st.tap = &tap{
		Runtime: st.faults.Wrap(st.mem.WithClock(clk), clk), now: st.b.s.Now, write: st.writeLine, names: map[string]string{},
	}
	syncer, err := podsync.New(podsync.Config{
		Runtime: st.tapWithFeatures(), Status: st.store, Recorder: events{st}, Clock: clk, HostIPs: []string{"192.0.2.1"},
		HTTP: getter{st},
	})
	require.NoError(st.t, err)
	st.syncer = syncer
}

func (st *story) writeLine(text string) { st.out.WriteString(text + "\n") }

func (st *story) runCommand(d *datadriven.TestData) string {
	st.out.Reset()
	switch d.Cmd {
	case "new":
	case "pod":
		st.definePod(d)
	case "sync", "terminate", "terminated", "orphan":
		st.callSyncer(d)
	case "advance":
		st.b.s.RunUntil(st.b.s.Now().Add(st.parseDuration(d.CmdArgs[0].Key)))
	case "fault":
		st.addFault(d)
	case "trouble":
		st.changeRuntime(d)
	case "heal":
		st.faults.Clear()
	case "hook":
		st.setHookScript(d)
	case "begin":
		var created []string
		for _, arg := range d.CmdArgs {
			created = append(created, arg.Key)
		}
		st.createContainers(created...)
	case "feature":
		st.feature = d.CmdArgs[0].Key
		st.bootAgent()
	case "crash":
		st.b.p.Crash()
		st.bootAgent()
	case "forget":
		st.syncer.Forget(func(types.UID) bool { return false })
	case "records":
		st.writeRecords()
	default:
		d.Fatalf(st.t, "unknown command %q", d.Cmd)
	}
	return st.out.String()
}

func (st *story) parseDuration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(st.t, err)
	return d
}

// definePod creates the pod from the arguments.
func (st *story) definePod(d *datadriven.TestData) {
	st.pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", Namespace: "ns", UID: "u", Annotations: map[string]string{"kubernetes.io/config.source": "api"},
	}}
	setContainers(&st.pod.Spec.Containers, "a")
	for _, arg := range d.CmdArgs {
		switch value := strings.Join(arg.Vals, ","); arg.Key {
		case "policy":
			st.pod.Spec.RestartPolicy = v1.RestartPolicy(value)
		case "init":
			setContainers(&st.pod.Spec.InitContainers, value)
		case "side":
			var side []v1.Container
			setContainers(&side, value)
			for i := range side {
				side[i].RestartPolicy = new(v1.ContainerRestartPolicyAlways)
			}
			st.pod.Spec.InitContainers = append(st.pod.Spec.InitContainers, side...)
		case "ephemeral":
			name, target, _ := strings.Cut(value, ">")
			st.pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{
				EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: name, Image: "img:1"}, TargetContainerName: target,
			}}
		case "share":
			st.pod.Spec.ShareProcessNamespace = new(true)
		case "deadline":
			st.pod.Spec.ActiveDeadlineSeconds = st.parseNumber(value)
		case "deletion":
			st.pod.DeletionGracePeriodSeconds = st.parseNumber(value)
		case "main":
			setContainers(&st.pod.Spec.Containers, value)
		case "grace":
			st.pod.Spec.TerminationGracePeriodSeconds = st.parseNumber(value)
		case "host":
			st.pod.Spec.HostNetwork = true
		case "static":
			st.pod.Annotations["kubernetes.io/config.source"] = "file"
		default:
			d.Fatalf(st.t, "pod %s?", arg.Key)
		}
	}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		switch rest := strings.Join(f[2:], " "); f[0] {
		case "script":
			st.pod.Annotations["memory.podkeel.dev/"+f[1]] = rest
		case "image":
			st.findSpec(f[1]).Image = rest
		case "pull":
			st.findSpec(f[1]).ImagePullPolicy = v1.PullPolicy(rest)
		case "args":
			st.findSpec(f[1]).Args = f[2:]
		case "poststart":
			ensureLifecycle(st.findSpec(f[1])).PostStart = st.parseHandler(f[2:])
		case "prestop":
			ensureLifecycle(st.findSpec(f[1])).PreStop = st.parseHandler(f[2:])
		case "record":
			st.noted[f[1]+" "+f[2]] = strings.Join(f[3:], " ")
		case "all-restart":
			st.findSpec(f[1]).RestartPolicy = new(v1.ContainerRestartPolicyNever)
			st.findSpec(f[1]).RestartPolicyRules = []v1.ContainerRestartRule{{
				Action: v1.ContainerRestartRuleActionRestartAllContainers,
				ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
					Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{int32(*st.parseNumber(f[2]))},
				},
			}}
		case "port":
			port := v1.ContainerPort{Name: f[2], ContainerPort: int32(*st.parseNumber(f[3]))}
			st.findSpec(f[1]).Ports = append(st.findSpec(f[1]).Ports, port)
		default:
			d.Fatalf(st.t, "pod ... %s?", f[0])
		}
	}
}

func setContainers(list *[]v1.Container, names string) {
	*list = nil
	for name := range strings.SplitSeq(names, ",") {
		*list = append(*list, v1.Container{Name: name, Image: "img:1"})
	}
}

func (st *story) findSpec(name string) *v1.Container {
	for _, list := range [][]v1.Container{st.pod.Spec.InitContainers, st.pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	st.t.Fatalf("no container %s", name)
	return nil
}

func (st *story) parseNumber(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(st.t, err)
	return &n
}

// callSyncer makes one call of the syncer and writes its result.
func (st *story) callSyncer(d *datadriven.TestData) {
	incarnation, grace, statusFunc := uint64(1), (*int64)(nil), podworkers.PodStatusFunc(nil)
	var at []due
	ctx, cancel := executor.WithCancel(context.Background())
	stale := false
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "incarnation":
			incarnation = uint64(*st.parseNumber(arg.Vals[0]))
		case "grace":
			grace = st.parseNumber(arg.Vals[0])
		case "cancel":
			at = append(at, due{st.b.s.Now().Add(st.parseDuration(arg.Vals[0])), cancel})
		case "dies":
			at = append(at, due{st.b.s.Now().Add(st.parseDuration(arg.Vals[0])), st.b.p.Crash})
		case "quiet":
			defer st.out.Reset()
		case "stale":
			stale = true
		case "reason":
			statusFunc = func(s *v1.PodStatus) { s.Phase, s.Reason = v1.PodFailed, arg.Vals[0] }
		default:
			d.Fatalf(st.t, "%s?", arg.Key)
		}
	}
	if !stale {
		st.observePod()
	}
	ctx = podworkers.WithIncarnation(ctx, incarnation)
	began := st.b.s.Now()
	var terminal bool
	var err error
	hangs := st.b.runCall(func() { terminal, err = st.invokeSyncer(ctx, d.Cmd, grace, statusFunc) }, at...)
	cancel()
	st.b.s.RunUntilIdle()
	st.writeResult(terminal, err, hangs, st.b.s.Now().Sub(began))
}

// observePod reads the status that the next call gets, as a cache would.
func (st *story) observePod() {
	st.b.runCall(func() {
		clk := st.b.p.Clock()
		status, err := st.faults.Wrap(st.mem.WithClock(clk), clk).PodStatus(context.Background(), "u")
		if err == nil {
			st.last = status
			st.tap.nameRecords(status)
		}
	})
}

func (st *story) invokeSyncer(ctx context.Context, verb string, grace *int64, statusFunc podworkers.PodStatusFunc) (bool, error) {
	switch verb {
	case "sync":
		return st.syncer.SyncPod(ctx, podworkers.SyncPodSync, st.pod, nil, st.last)
	case "terminate":
		return false, st.syncer.SyncTerminatingPod(ctx, st.pod, st.last, grace, statusFunc)
	case "terminated":
		return false, st.syncer.SyncTerminatedPod(ctx, st.pod, st.last)
	}
	return false, st.syncer.SyncTerminatingRuntimePod(ctx, &runtime.Pod{UID: "u", Name: "p", Namespace: "ns"})
}

func (st *story) writeResult(terminal bool, err error, hangs bool, took time.Duration) {
	if took > 0 {
		st.writeLine("took " + took.String())
	}
	switch {
	case hangs:
		st.writeLine("HANGS")
	case err != nil:
		for line := range strings.Lines(st.tap.replaceIDs(err.Error())) {
			st.writeLine("error: " + strings.TrimSuffix(line, "\n"))
		}
	case terminal:
		st.writeLine("terminal")
	}
}

func (st *story) addFault(d *datadriven.TestData) {
	rule := faulty.Rule{}
	for _, arg := range d.CmdArgs {
		switch value := arg.Vals[0]; arg.Key {
		case "verb":
			rule.Verb = value
		case "container":
			rule.Container = value
			rule.UID = "u"
		case "times":
			rule.Times = int(*st.parseNumber(value))
		case "skip":
			rule.Skip = int(*st.parseNumber(value))
		case "err":
			rule.Err = map[string]error{"exists": runtime.ErrExists}[value]
		case "latency":
			rule.Latency = st.parseDuration(value)
		case "do":
			for f := faulty.Nothing; f <= faulty.Omit; f++ {
				if f.String() == value {
					rule.Do = f
				}
			}
		default:
			d.Fatalf(st.t, "fault %s?", arg.Key)
		}
	}
	_, err := st.faults.Add(rule)
	require.NoError(st.t, err)
}

func (st *story) changeRuntime(d *datadriven.TestData) {
	st.observePod()
	var args []string
	for _, arg := range d.CmdArgs {
		args = append(args, arg.Key)
	}
	switch args[0] {
	case "kill-sandbox":
		require.NoError(st.t, st.mem.KillSandbox(st.last.Sandboxes[0].ID))
	case "lose":
		require.NoError(st.t, st.mem.LoseContainer(st.newestID(args[1])))
	case "lose-all":
		st.mem.LoseAll()
	case "start": // the status that a stale call is given is from before
		require.NoError(st.t, st.mem.StartContainer(context.Background(), runtime.StartContainerRequest{ContainerID: st.newestID(args[1])}))
	case "exit":
		require.NoError(st.t, st.mem.ExitContainer(st.newestID(args[1]), int32(*st.parseNumber(args[2]))))
	case "network":
		st.mem.SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: args[1] == "up", NetworkMessage: "no cni"})
	case "runtime":
		st.mem.SetStatus(runtime.RuntimeStatus{RuntimeMessage: "it begins"})
	case "pulls":
		reason := errors.New("registry is down")
		if len(args) > 2 {
			reason = map[string]error{"registry": runtime.ErrRegistryUnavailable, "signature": runtime.ErrSignature}[args[2]]
		}
		st.mem.FailPulls(args[1], reason)
	default:
		d.Fatalf(st.t, "trouble %s?", args[0])
	}
}

func (st *story) newestID(name string) string {
	for _, c := range st.last.Containers {
		if c.Name == name {
			return c.ID
		}
	}
	st.t.Fatalf("no record of %s", name)
	return ""
}

func (st *story) writeRecords() {
	st.observePod()
	for _, s := range st.last.Sandboxes {
		st.writeLine(fmt.Sprintf("%s incarnation=%d ready=%t", st.tap.names[s.ID], s.Incarnation, s.Ready))
	}
	for _, c := range st.last.Containers {
		st.writeLine(fmt.Sprintf("%s incarnation=%d in %s %s", st.tap.names[c.ID], c.Incarnation, st.tap.names[c.SandboxID], c.State))
	}
}

// store is the newest status of each pod, and writes each down.
type store struct {
	mu       sync.Mutex // some tests sync several pods at once
	write    func(string)
	statuses map[types.UID]v1.PodStatus
}

func (s *store) SetPodStatus(pod *v1.Pod, status v1.PodStatus) {
	s.mu.Lock()
	s.statuses[pod.UID] = *status.DeepCopy()
	s.mu.Unlock()
	line := "status " + string(status.Phase)
	if status.Reason != "" {
		line += "/" + status.Reason
	}
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		line += fmt.Sprintf(" %s=%s", c.Name, briefState(c.State))
		if c.RestartCount > 0 {
			line += fmt.Sprintf("#%d", c.RestartCount)
		}
	}
	s.write(line)
}

func briefState(state v1.ContainerState) string {
	switch {
	case state.Running != nil:
		return "Running"
	case state.Terminated != nil:
		return fmt.Sprintf("Terminated(%d)", state.Terminated.ExitCode)
	}
	return "Waiting(" + state.Waiting.Reason + ")"
}

func (s *store) ReplacePodStatus(pod *v1.Pod, status v1.PodStatus) {
	s.write("a new life")
	s.SetPodStatus(pod, status)
}

func (s *store) GetPodStatus(uid types.UID) (v1.PodStatus, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, ok := s.statuses[uid]
	return *status.DeepCopy(), ok
}

func (s *store) TerminatePod(*v1.Pod) { s.write("status finished") }

// events records the events.
type events struct{ st *story }

func (e events) Event(_ k8sruntime.Object, kind, reason, message string) {
	e.st.writeLine(fmt.Sprintf("event %s %s: %s", kind, reason, e.st.tap.replaceIDs(message)))
}

func (e events) Eventf(o k8sruntime.Object, kind, reason, format string, args ...any) {
	e.Event(o, kind, reason, fmt.Sprintf(format, args...))
}
