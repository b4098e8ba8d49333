package explain_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node/explain"
)

// epoch is when the pods of the stories begin; it is a minute ago.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var now = epoch.Add(time.Minute)

// TestStories runs the texts in testdata. A block is one of the commands
//
//	why      the sentence, what else is waited for, and when the next look is
//	page     the whole text
//
// and lines that describe the world, with times since the epoch:
//
//	pod [main=a,b] [init=i] [sidecar=s] [policy=Never] [gates=x] [deadline=90] [unwanted]
//	startup a            a container has a startup probe; also: readiness
//	status Failed [Why] [: message]
//	cond Ready=False [Why] [: message]
//	a waiting [Why] [restarts=2] [last=1/Error@50s] [: message]
//	a running [started] [ready]
//	a exited=1/Error@50s [restarts=2] [signal=9]
//	a ... ephemeral      it is one
//	worker terminating [deleted] [evicted] [grace=30] [name] [former] [step=awaiting_a_status]; or: none
//	next 100s            when the worker wakes by itself
//	held a 100s          a container is not tried again before
//	fault a.yaml 40s : message
//	                     the fault of the pod's manifest
//	faulty : message     the fault of a manifest of an incomplete source
//	refused : message    why the status of the runtime's state was rejected
//	deferred [until=100s] : message    for what the pod waits before it is admitted
//	late 90s             time at which it is terminated unless a source delivers it
//	failed : message     how the last sync ended
//	record a created     what the runtime shows of a container
//	sandbox ready|lost
//	probe a readiness fails|succeeds [: message]
//	node [stopped] [draining] [unheard=file] [: error of the runtime]
//	history 50s action StartContainer_a [x3] [: error]
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { datadriven.RunTest(t, file, story) })
	}
}

// TestStories_TableTwo: there is a story for every row of table 2.
func TestStories_TableTwo(t *testing.T) {
	seen := map[string]bool{}
	datadriven.RunTest(t, "testdata/table2.txt", func(t *testing.T, d *datadriven.TestData) string {
		for _, id := range d.CmdArgs {
			seen[id.Key] = true
		}
		return story(t, d)
	})
	for i := 1; i <= 34; i++ {
		assert.True(t, seen[fmt.Sprintf("P%d", i)], "P%d", i)
	}
}

func story(t *testing.T, d *datadriven.TestData) string {
	w := &harness{t: t, f: explain.Facts{
		Now: now, Desired: true,
		Pod: &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u"},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "a"}}},
		},
		Runtime:      &runtime.PodStatus{},
		Worker:       explain.Worker{Known: true, Phase: "sync", Incarnation: 1, Step: explain.Idle},
		BackoffUntil: map[string]time.Time{},
	}}
	for line := range strings.Lines(d.Input) {
		w.line(strings.TrimSuffix(line, "\n"))
	}
	e := explain.Explain(w.f)
	_, err := json.Marshal(e)
	require.NoError(t, err)
	if d.Cmd == "page" {
		return e.String()
	}
	var b strings.Builder
	b.WriteString(e.Sentence + "\n")
	for i, wait := range e.Waits {
		if i > 0 || !strings.HasSuffix(e.Sentence, wait) {
			b.WriteString("  waits: " + wait + "\n")
		}
	}
	if e.Next != nil {
		fmt.Fprintf(&b, "  next in %s: %s\n", e.Next.At.Sub(now), e.Next.Why)
	}
	return b.String()
}

type harness struct {
	t *testing.T
	f explain.Facts
}

func (w *harness) line(line string) {
	line, message, _ := strings.Cut(line, " : ")
	message = strings.ReplaceAll(message, `\e`, "\x1b")
	words := strings.Fields(line)
	verb, args, flags := words[0], []string{}, map[string]string{}
	for _, word := range words[1:] {
		if key, value, ok := strings.Cut(word, "="); ok {
			flags[key] = value
		} else {
			args = append(args, word)
			flags[word] = "yes"
		}
	}
	switch verb {
	case "pod":
		w.pod(flags)
	case "deferred":
		w.f.Deferred = message
		if until, ok := flags["until"]; ok {
			d, err := time.ParseDuration(until)
			require.NoError(w.t, err)
			w.f.DeferredUntil = epoch.Add(d)
		}
	case "late":
		d, err := time.ParseDuration(args[0])
		require.NoError(w.t, err)
		w.f.OrphanUntil = epoch.Add(d)
	case "startup":
		w.spec(args[0]).StartupProbe = &v1.Probe{}
	case "readiness":
		w.spec(args[0]).ReadinessProbe = &v1.Probe{}
	case "rule":
		w.rule(flags)
	case "status":
		w.status().Phase, w.status().Message = v1.PodPhase(args[0]), message
		w.status().StartTime = &metav1.Time{Time: epoch}
		if len(args) > 1 {
			w.status().Reason = args[1]
		}
	case "cond":
		kind, status, _ := strings.Cut(words[1], "=")
		c := v1.PodCondition{Type: v1.PodConditionType(kind), Status: v1.ConditionStatus(status), Message: message}
		if len(args) > 0 {
			c.Reason = args[0]
		}
		w.status().Conditions = append(w.status().Conditions, c)
	case "worker":
		w.worker(args[0], flags)
	case "next":
		w.f.Worker.NextAt = w.at(args[0])
	case "held":
		w.f.BackoffUntil[args[0]] = w.at(args[1])
	case "fault":
		d, err := time.ParseDuration(args[1])
		require.NoError(w.t, err)
		w.f.Fault = &explain.Fault{Path: args[0], Since: epoch.Add(d), Reason: message, Effect: "its last good version stays in force"}
	case "faulty":
		w.f.Node.SourceFault = message
	case "refused":
		w.f.StatusRefused = message
	case "failed":
		w.f.LastSync = explain.Sync{At: epoch, Err: message}
	case "record":
		states := map[string]runtime.State{"created": runtime.StateCreated, "running": runtime.StateRunning, "unknown": runtime.StateUnknown, "exited": runtime.StateExited}
		w.f.Runtime.Containers = append(w.f.Runtime.Containers, runtime.ContainerStatus{Container: runtime.Container{Name: args[0], State: states[args[1]]}})
	case "sandbox":
		w.f.Runtime.Sandboxes = append(w.f.Runtime.Sandboxes, runtime.SandboxStatus{Sandbox: runtime.Sandbox{Ready: args[0] == "ready"}})
	case "probe":
		w.f.Probes = append(w.f.Probes, explain.Probe{Container: args[0], Kind: args[1], Success: args[2] == "succeeds", Message: message, At: epoch})
	case "node":
		w.f.Node = explain.Node{Stopped: flags["stopped"] != "", Draining: flags["draining"] != "", RuntimeFault: message}
		if unheard := flags["unheard"]; unheard != "" {
			w.f.Node.IncompleteSources = strings.Split(unheard, ",")
		}
	case "history":
		w.history(args, message)
	default:
		w.container(verb, words[1:], flags, message)
	}
}

func (w *harness) pod(flags map[string]string) {
	spec := &w.f.Pod.Spec
	always := v1.ContainerRestartPolicyAlways
	for name := range strings.FieldsFuncSeq(flags["init"], comma) {
		spec.InitContainers = append(spec.InitContainers, v1.Container{Name: name})
	}
	for name := range strings.FieldsFuncSeq(flags["sidecar"], comma) {
		spec.InitContainers = append(spec.InitContainers, v1.Container{Name: name, RestartPolicy: &always})
	}
	if flags["main"] != "" {
		spec.Containers = nil
	}
	for name := range strings.FieldsFuncSeq(flags["main"], comma) {
		spec.Containers = append(spec.Containers, v1.Container{Name: name})
	}
	for gate := range strings.FieldsFuncSeq(flags["gates"], comma) {
		spec.ReadinessGates = append(spec.ReadinessGates, v1.PodReadinessGate{ConditionType: v1.PodConditionType(gate)})
	}
	spec.RestartPolicy = v1.RestartPolicy(flags["policy"])
	if n, err := strconv.ParseInt(flags["deadline"], 10, 64); err == nil {
		spec.ActiveDeadlineSeconds = &n
	}
	w.f.Desired = flags["unwanted"] == ""
}

func comma(r rune) bool { return r == ',' }

// rule gives container a a rule: rule in=42,43 or notin=0.
func (w *harness) rule(flags map[string]string) {
	for key, op := range map[string]v1.ContainerRestartRuleOnExitCodesOperator{
		"in": v1.ContainerRestartRuleOnExitCodesOpIn, "notin": v1.ContainerRestartRuleOnExitCodesOpNotIn,
	} {
		if flags[key] == "" {
			continue
		}
		codes := &v1.ContainerRestartRuleOnExitCodes{Operator: op}
		for code := range strings.FieldsFuncSeq(flags[key], comma) {
			n, err := strconv.Atoi(code)
			require.NoError(w.t, err)
			codes.Values = append(codes.Values, int32(n))
		}
		a := w.spec("a")
		a.RestartPolicy = new(v1.ContainerRestartPolicyNever)
		a.RestartPolicyRules = append(a.RestartPolicyRules, v1.ContainerRestartRule{Action: v1.ContainerRestartRuleActionRestart, ExitCodes: codes})
	}
}

func (w *harness) status() *v1.PodStatus {
	if w.f.Status == nil {
		w.f.Status = &v1.PodStatus{}
	}
	return w.f.Status
}

func (w *harness) spec(name string) *v1.Container {
	for _, list := range [][]v1.Container{w.f.Pod.Spec.InitContainers, w.f.Pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	w.t.Fatalf("there is no container %q", name)
	return nil
}

func (w *harness) worker(phase string, flags map[string]string) {
	k := &w.f.Worker
	if phase == "none" {
		*k = explain.Worker{}
		return
	}
	k.Phase, k.Deleted, k.Evicted = phase, flags["deleted"] != "", flags["evicted"] != ""
	k.AwaitsName, k.PreviousIncarnation = flags["name"] != "", flags["former"] != ""
	if n, err := strconv.ParseInt(flags["grace"], 10, 64); err == nil {
		k.Grace = &n
	}
	if step := flags["step"]; step != "" {
		k.Step = strings.ReplaceAll(step, "_", " ")
	}
}

func (w *harness) at(since string) time.Time {
	d, err := time.ParseDuration(since)
	require.NoError(w.t, err)
	return epoch.Add(d)
}

func (w *harness) history(args []string, message string) {
	e := explain.Entry{At: w.at(args[0]), What: args[1], Text: strings.ReplaceAll(args[2], "_", " "), Err: message}
	if len(args) > 3 {
		e.Times, _ = strconv.Atoi(strings.TrimPrefix(args[3], "x"))
	}
	w.f.History = append(w.f.History, e)
}

var end = regexp.MustCompile(`^(\d+)(?:/(\w+))?(?:@(\w+))?$`)

// terminated reads 1/Error@50s.
func (w *harness) terminated(s string) *v1.ContainerStateTerminated {
	m := end.FindStringSubmatch(s)
	require.NotNil(w.t, m, s)
	code, _ := strconv.Atoi(m[1])
	t := &v1.ContainerStateTerminated{ExitCode: int32(code), Reason: m[2]}
	if m[3] != "" {
		t.FinishedAt = metav1.Time{Time: w.at(m[3])}
	}
	return t
}

func (w *harness) container(name string, words []string, flags map[string]string, message string) {
	s := v1.ContainerStatus{Name: name, Ready: flags["ready"] != "", Started: new(flags["started"] != "" || flags["ready"] != "")}
	if n, err := strconv.Atoi(flags["restarts"]); err == nil {
		s.RestartCount = int32(n)
	}
	if last := flags["last"]; last != "" {
		s.LastTerminationState.Terminated = w.terminated(last)
	}
	switch {
	case words[0] == "waiting":
		s.State.Waiting = &v1.ContainerStateWaiting{Message: message}
		if len(words) > 1 && !strings.Contains(words[1], "=") {
			s.State.Waiting.Reason = words[1]
		}
	case words[0] == "running":
		s.State.Running = &v1.ContainerStateRunning{StartedAt: metav1.Time{Time: epoch}}
	default:
		s.State.Terminated = w.terminated(flags["exited"])
		s.State.Terminated.Message = message
		if n, err := strconv.Atoi(flags["signal"]); err == nil {
			s.State.Terminated.Signal = int32(n)
		}
	}
	list := &w.status().ContainerStatuses
	if flags["ephemeral"] != "" {
		list = &w.status().EphemeralContainerStatuses
	}
	for i := range w.f.Pod.Spec.InitContainers {
		if w.f.Pod.Spec.InitContainers[i].Name == name {
			list = &w.status().InitContainerStatuses
		}
	}
	*list = append(*list, s)
}
