package plan_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestStories runs the texts in testdata. A block starts with a command and
// goes on with lines that describe the world:
//
//	decide [initialized]          what to do (and whether it is initialized now);
//	                              or: status [terminal|ending], what to say
//	pod policy=Never init=i1,s1* main=a,b ephemeral=e [host] [deleted] [static] [api=Failed/Why]
//	                              an init container with a star is a sidecar
//	spec a policy=Never rule=Restart/In/1,2 rule=Restart startup=5 liveness readiness
//	                              its own policy, rules and probes; 5 is a grace
//	    [gate=ready] a readiness gate        [open=ready] its condition is True
//	sandbox 0 ready|lost [incarnation=1] [host] [noip]     a lost one has no address
//	a 0 running|created|unknown|exited=1 [in=0] [incarnation=1] [hash=other] [at=30s] [user=1:2:2+3]
//	                              a user is its ID, its group and its supplemental groups
//	held a 40s                    a crash-loop delay ends then (now is 60s); of "sandbox", that
//	                              of its replacements
//	reason a ErrImagePull         why the last start failed
//	starting a 1                  this attempt is being made
//	probed a0 startup=Failure liveness=Success
//	told a started|ready=false    what the probes say between the halves of a status
//	initialized s0                it was, in that sandbox
//	no-addresses                  the runtime reports no addresses of sandboxes
//	replaced a a0                 it was asked to end for the sake of the next attempt
//	old a running|waiting|exited=1 [restarts=2] [last=1@a0] [id=a1] [why=Error] [started] [ready] [user=1:2:2+3]  published
//	    last=1@a0/Why gives the last end a reason
//	old phase=Failed/Why
//	old condition=AllContainersRestarting   it is published as True
//	old ip=10.0.0.9
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { datadriven.RunTest(t, file, runStory) })
	}
}

func runStory(t *testing.T, d *datadriven.TestData) string {
	w := newHarness(t, d.Input)
	switch d.Cmd {
	case "decide":
		return w.describeDecision(d.HasArg("initialized"))
	case "status":
		w.ending = d.HasArg("ending")
		return w.describeStatus(d.HasArg("terminal"))
	}
	t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	return ""
}

// harness is a pod as its desire, its records and its history show it.
type harness struct {
	t       failer
	pod     *v1.Pod
	st      *runtime.PodStatus
	old     *v1.PodStatus
	static  bool
	ending  bool
	held    map[string]time.Time
	reasons map[string]plan.Reason
	probed  map[string]plan.Probed
	// initialized is a sandbox that the pod was initialized in.
	initialized string
	replaced    map[string]string
	starting    []plan.Step
	told        []string // container, word and value, one after the other
	noAddresses bool
}

// failer is a test, a benchmark or a property.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newHarness(t failer, text string) *harness {
	w := &harness{
		t: t,
		pod: &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "u"},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "a", Image: "img"}}},
		},
		st:      &runtime.PodStatus{UID: "u", Name: "p", Namespace: "ns"},
		held:    map[string]time.Time{},
		reasons: map[string]plan.Reason{},
		probed:  map[string]plan.Probed{},
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 {
			w.readLine(f[0], f[1:])
		}
	}
	return w
}

func (w *harness) readLine(verb string, args []string) {
	switch verb {
	case "pod":
		w.setPod(args)
	case "sandbox":
		w.addSandbox(args)
	case "held":
		d, err := time.ParseDuration(args[1])
		w.failOnError(err)
		w.held[args[0]] = epoch.Add(d)
	case "told":
		word, value, _ := strings.Cut(args[1], "=")
		w.told = append(w.told, args[0], word, value)
	case "reason":
		w.reasons[args[0]] = plan.Reason{Reason: args[1], Message: strings.Join(args[2:], " ")}
	case "starting":
		w.starting = append(w.starting, plan.Step{Op: plan.StartContainer, Name: args[0], Attempt: uint32(w.parseNumber(args[1]))})
	case "spec":
		w.setContainerSpec(args[0], args[1:])
	case "probed":
		w.setVerdicts(args[0], args[1:])
	case "no-addresses":
		w.noAddresses = true
	case "initialized":
		w.initialized = args[0]
	case "replaced":
		w.replaced = map[string]string{args[0]: args[1]}
	case "old":
		w.setPublished(args)
	default:
		w.addContainer(verb, args)
	}
}

func (w *harness) failOnError(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *harness) parseNumber(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	w.failOnError(err)
	return n
}

func (w *harness) setPod(args []string) {
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "policy":
			w.pod.Spec.RestartPolicy = v1.RestartPolicy(value)
		case "init":
			w.pod.Spec.InitContainers = parseContainers(value)
		case "main":
			w.pod.Spec.Containers = parseContainers(value)
		case "ephemeral":
			for _, c := range parseContainers(value) {
				w.pod.Spec.EphemeralContainers = append(w.pod.Spec.EphemeralContainers,
					v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon(c)})
			}
		case "gate":
			w.pod.Spec.ReadinessGates = append(w.pod.Spec.ReadinessGates, v1.PodReadinessGate{ConditionType: v1.PodConditionType(value)})
		case "open":
			w.pod.Status.Conditions = append(w.pod.Status.Conditions, v1.PodCondition{Type: v1.PodConditionType(value), Status: v1.ConditionTrue})
		case "host":
			w.pod.Spec.HostNetwork = true
		case "deleted":
			w.pod.DeletionTimestamp = &metav1.Time{Time: epoch}
		case "static":
			w.static = true
		case "api":
			phase, reason, _ := strings.Cut(value, "/")
			w.pod.Status.Phase, w.pod.Status.Reason = v1.PodPhase(phase), reason
		default:
			w.t.Fatalf("pod %s?", arg)
		}
	}
}

func parseContainers(names string) []v1.Container {
	var out []v1.Container
	for name := range strings.SplitSeq(names, ",") {
		c := v1.Container{Name: name, Image: "img"}
		if bare, ok := strings.CutSuffix(name, "*"); ok {
			c.Name, c.RestartPolicy = bare, new(v1.ContainerRestartPolicyAlways)
		}
		out = append(out, c)
	}
	return out
}

// setContainerSpec adds to the spec of a container.
func (w *harness) setContainerSpec(name string, args []string) {
	c := w.findSpec(name)
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		probe := &v1.Probe{}
		if key != "policy" && key != "rule" && value != "" {
			probe.TerminationGracePeriodSeconds = new(w.parseNumber(value))
		}
		switch key {
		case "policy":
			c.RestartPolicy = new(v1.ContainerRestartPolicy(value))
		case "rule":
			c.RestartPolicyRules = append(c.RestartPolicyRules, w.parseRule(value))
		case "startup":
			c.StartupProbe = probe
		case "liveness":
			c.LivenessProbe = probe
		case "readiness":
			c.ReadinessProbe = probe
		default:
			w.t.Fatalf("spec %s?", arg)
		}
	}
}

// parseRule parses ACTION, or ACTION/OPERATOR/CODES.
func (w *harness) parseRule(text string) v1.ContainerRestartRule {
	part := strings.Split(text, "/")
	r := v1.ContainerRestartRule{Action: v1.ContainerRestartRuleAction(part[0])}
	if len(part) == 1 {
		return r
	}
	r.ExitCodes = &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOperator(part[1])}
	for code := range strings.SplitSeq(part[2], ",") {
		r.ExitCodes.Values = append(r.ExitCodes.Values, int32(w.parseNumber(code)))
	}
	return r
}

// setVerdicts sets the verdicts of the probes of a container.
func (w *harness) setVerdicts(id string, args []string) {
	var p plan.Probed
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		verdict, ok := map[string]plan.Verdict{"Success": plan.Success, "Failure": plan.Failure}[value]
		switch {
		case ok && key == "startup":
			p.Startup = verdict
		case ok && key == "liveness":
			p.Liveness = verdict
		default:
			w.t.Fatalf("probed %s?", arg)
		}
	}
	w.probed[id] = p
}

func (w *harness) addSandbox(args []string) {
	s := runtime.SandboxStatus{Sandbox: runtime.Sandbox{
		ID: "s" + args[0], Attempt: uint32(w.parseNumber(args[0])), Incarnation: 1, Ready: args[1] == "ready",
		CreatedAt: epoch.Add(time.Duration(len(w.st.Sandboxes)) * time.Second),
	}}
	if s.Ready {
		s.IPs = []string{"10.0.0." + args[0]}
	}
	for _, arg := range args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "incarnation":
			s.Incarnation = uint64(w.parseNumber(value))
			s.ID += "/" + value
		case "host":
			s.HostNetwork, s.IPs = true, nil
		case "noip":
			s.IPs = nil
		case "at":
			d, err := time.ParseDuration(value)
			w.failOnError(err)
			s.CreatedAt = epoch.Add(d)
		default:
			w.t.Fatalf("sandbox %s?", arg)
		}
	}
	w.st.Sandboxes = append(w.st.Sandboxes, s)
}

func (w *harness) addContainer(name string, args []string) {
	sandbox := "s0"
	if n := len(w.st.Sandboxes); n > 0 {
		sandbox = w.st.Sandboxes[n-1].ID
	}
	c := runtime.ContainerStatus{Container: runtime.Container{
		ID: name + args[0], Name: name, Attempt: uint32(w.parseNumber(args[0])), SandboxID: sandbox, Incarnation: 1,
	}, Image: "img", ImageRef: "img@sha256", Annotations: map[string]string{}}
	if spec := w.findSpec(name); spec != nil {
		c.Annotations[plan.HashAnnotation] = plan.SpecHash(spec)
	}
	w.setState(&c, args[1])
	for _, arg := range args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "in":
			c.SandboxID = "s" + value
		case "incarnation":
			c.Incarnation = uint64(w.parseNumber(value))
			c.ID += "/" + value
		case "hash":
			c.Annotations[plan.HashAnnotation] = map[string]string{
				"other": "v1-1234", "future": "v9-1234", "garbage": "v1-zz", "none": "",
			}[value]
		case "at":
			d, err := time.ParseDuration(value)
			w.failOnError(err)
			c.CreatedAt = epoch.Add(d)
		case "user":
			c.User = w.parseUser(value)
		default:
			w.t.Fatalf("container %s?", arg)
		}
	}
	w.st.Containers = append(w.st.Containers, c)
}

// parseUser parses a user in the form uid:gid:groups.
func (w *harness) parseUser(text string) *runtime.LinuxContainerUser {
	parts := strings.Split(text, ":")
	u := &runtime.LinuxContainerUser{UID: w.parseNumber(parts[0]), GID: w.parseNumber(parts[1])}
	for group := range strings.SplitSeq(parts[2], "+") {
		u.SupplementalGroups = append(u.SupplementalGroups, w.parseNumber(group))
	}
	return u
}

func (w *harness) findSpec(name string) *v1.Container {
	for _, list := range [][]v1.Container{w.pod.Spec.InitContainers, w.pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	for i := range w.pod.Spec.EphemeralContainers {
		if c := &w.pod.Spec.EphemeralContainers[i].EphemeralContainerCommon; c.Name == name {
			return (*v1.Container)(c)
		}
	}
	return nil
}

func (w *harness) setState(c *runtime.ContainerStatus, state string) {
	word, code, _ := strings.Cut(state, "=")
	switch word {
	case "created":
		c.State = runtime.StateCreated
	case "unknown":
		c.State = runtime.StateUnknown
	case "running":
		c.State, c.StartedAt = runtime.StateRunning, epoch
	case "start-cancelled": // as containerd ends a start whose caller has gone
		c.State, c.FinishedAt, c.StartCancelled = runtime.StateExited, epoch, true
		c.ExitCode, c.Reason, c.Message = 128, "StartError", "context canceled"
	case "exited":
		c.State, c.StartedAt, c.FinishedAt = runtime.StateExited, epoch, epoch.Add(time.Second)
		c.ExitCode = int32(w.parseNumber(code))
	default:
		w.t.Fatalf("state %s?", state)
	}
}

func (w *harness) setPublished(args []string) {
	if w.old == nil {
		w.old = &v1.PodStatus{}
	}
	if phase, ok := strings.CutPrefix(args[0], "phase="); ok {
		word, reason, _ := strings.Cut(phase, "/")
		w.old.Phase, w.old.Reason = v1.PodPhase(word), reason
		return
	}
	if condition, ok := strings.CutPrefix(args[0], "condition="); ok {
		w.old.Conditions = append(w.old.Conditions, v1.PodCondition{Type: v1.PodConditionType(condition), Status: v1.ConditionTrue})
		return
	}
	if ip, ok := strings.CutPrefix(args[0], "ip="); ok {
		w.old.PodIPs = append(w.old.PodIPs, v1.PodIP{IP: ip})
		return
	}
	s := v1.ContainerStatus{Name: args[0], State: oldState(w, args[1])}
	for _, arg := range args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "restarts":
			s.RestartCount = int32(w.parseNumber(value))
		case "last":
			code, rest, _ := strings.Cut(value, "@")
			id, reason, given := strings.Cut(rest, "/")
			s.LastTerminationState = oldState(w, "exited="+code)
			s.LastTerminationState.Terminated.ContainerID = "test://" + id
			if given {
				setReason(&s.LastTerminationState, reason)
			}
		case "id":
			s.ContainerID = "test://" + value
		case "why":
			setReason(&s.State, value)
		case "user":
			u := w.parseUser(value)
			s.User = &v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: u.UID, GID: u.GID, SupplementalGroups: u.SupplementalGroups}}
		case "started":
			s.Started = new(true)
		case "ready":
			s.Ready = true
		default:
			w.t.Fatalf("old %s?", arg)
		}
	}
	for _, c := range w.pod.Spec.InitContainers {
		if c.Name == s.Name {
			w.old.InitContainerStatuses = append(w.old.InitContainerStatuses, s)
			return
		}
	}
	for _, c := range w.pod.Spec.EphemeralContainers {
		if c.Name == s.Name {
			w.old.EphemeralContainerStatuses = append(w.old.EphemeralContainerStatuses, s)
			return
		}
	}
	w.old.ContainerStatuses = append(w.old.ContainerStatuses, s)
}

// setReason sets the reason of a published state.
func setReason(s *v1.ContainerState, reason string) {
	if s.Waiting != nil {
		s.Waiting.Reason = reason
	} else {
		s.Terminated.Reason = reason
	}
}

func oldState(w *harness, state string) v1.ContainerState {
	word, code, _ := strings.Cut(state, "=")
	switch word {
	case "running":
		return v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	case "exited":
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: int32(w.parseNumber(code)), Reason: "Old"}}
	}
	return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "Old"}}
}

func (w *harness) planInput() plan.Input {
	incarnation := uint64(1)
	for i := range w.st.Sandboxes {
		incarnation = max(incarnation, w.st.Sandboxes[i].Incarnation)
	}
	return plan.Input{
		Incarnation: incarnation, Addresses: !w.noAddresses, Now: epoch.Add(time.Minute), Published: w.old, Probed: w.probed, Memory: w.planMemory(),
	}
}

// planMemory returns the Memory that the text describes.
func (w *harness) planMemory() plan.Memory {
	m, now := plan.Memory{Initialized: w.initialized}, epoch.Add(time.Minute)
	for name, id := range w.replaced {
		m = m.Replacing(name, id)
	}
	for name, why := range w.reasons {
		m = m.SetWaitingReason(name, why)
	}
	for name, until := range w.held {
		switch {
		case !until.After(now):
		case name == "sandbox":
			m = m.HoldingSandbox(now, until.Sub(now))
		default:
			m = m.Holding(w.findSpec(name), now, until.Sub(now))
		}
	}
	return m
}

func (w *harness) describeDecision(initialized bool) (answer string) {
	a := w.decideActions()
	text := a.String()
	defer func() {
		for _, h := range a.Held {
			what := "replacement of " + h.Name
			if h.Name == "" {
				what = "replacement of the sandbox"
			}
			answer += fmt.Sprintf("%s held until %s: %s\n", what, h.Until.Sub(epoch), h.Reason)
		}
	}()
	if a.Idle() != (text == "") {
		w.t.Fatalf("Idle is %t with actions:\n%s", a.Idle(), text)
	}
	if text == "" {
		text = "nothing\n"
	}
	if initialized {
		text += fmt.Sprintf("initialized in %s: %t\n", a.SandboxID, a.Initialized)
	}
	return text
}

func (a *actions) String() string {
	var b strings.Builder
	if a.KillPod != "" {
		fmt.Fprintf(&b, "kill pod: %s\n", a.KillPod)
	}
	for _, k := range a.Kill {
		writeKill(&b, "kill", k)
	}
	for _, id := range a.Prune {
		fmt.Fprintf(&b, "prune %s\n", id)
	}
	for _, id := range a.StopSandboxes {
		fmt.Fprintf(&b, "stop sandbox %s\n", id)
	}
	for _, id := range a.PruneSandbox {
		fmt.Fprintf(&b, "prune sandbox %s\n", id)
	}
	for _, id := range a.RemoveSandboxes {
		fmt.Fprintf(&b, "remove sandbox %s\n", id)
	}
	if a.CreateSandbox != "" {
		fmt.Fprintf(&b, "create sandbox %d: %s\n", a.SandboxAttempt, a.CreateSandbox)
	}
	for _, k := range a.Reset {
		writeKill(&b, "reset", k)
	}
	for _, s := range a.Ephemeral {
		writeStart(&b, "ephemeral ", s)
	}
	for _, s := range a.Init {
		kind := "init "
		if p := s.Container.RestartPolicy; p != nil && *p == v1.ContainerRestartPolicyAlways {
			kind = "sidecar "
		}
		writeStart(&b, kind, s)
	}
	for _, s := range a.Containers {
		writeStart(&b, "", s)
	}
	return b.String()
}

func writeKill(b *strings.Builder, verb string, k plan.Step) {
	fmt.Fprintf(b, "%s %s: %s", verb, k.ID, k.Reason)
	if k.Grace != nil {
		fmt.Fprintf(b, ", grace %ds", *k.Grace)
	}
	b.WriteByte('\n')
}

func writeStart(b *strings.Builder, kind string, s plan.Held) {
	fmt.Fprintf(b, "start %s%s/%d: %s", kind, s.Name, s.Attempt, s.Reason)
	for _, id := range s.Created {
		fmt.Fprintf(b, ", remove %s first", id)
	}
	if !s.Until.IsZero() {
		fmt.Fprintf(b, ", held until %s", s.Until.Sub(epoch))
	}
	b.WriteByte('\n')
}

func (w *harness) statusInput(terminal bool) plan.StatusInput {
	return plan.StatusInput{
		Pod: w.pod, Runtime: w.st, Incarnation: w.planInput().Incarnation, Addresses: !w.noAddresses, Old: w.old, Terminal: terminal,
		Ending: w.ending, Memory: w.planMemory(), Static: w.static, Starting: w.starting, HostIPs: []string{"192.0.2.1"}, RuntimeName: "test",
	}
}

// applyProbeResults writes the results of the probes to the status.
func (w *harness) applyProbeResults(s *v1.PodStatus) {
	for i := 0; i < len(w.told); i += 3 {
		yes := w.told[i+2] != "false"
		for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
			for j := range list {
				switch {
				case list[j].Name != w.told[i]:
				case w.told[i+1] == "started":
					list[j].Started, list[j].Ready = &yes, list[j].Ready && yes
				default:
					list[j].Ready = yes
				}
			}
		}
	}
}

func (w *harness) describeStatus(terminal bool) string {
	in := w.statusInput(terminal)
	s := plan.ContainerStatuses(in)
	w.applyProbeResults(&s)
	s = plan.CompleteStatus(in, s)
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.Phase)
	for _, word := range []string{s.Reason, s.PodIP} {
		if word != "" {
			fmt.Fprintf(&b, " %s", word)
		}
	}
	b.WriteByte('\n')
	if s.Reason == "" && s.Message != "" {
		fmt.Fprintf(&b, "%q\n", s.Message)
	}
	short := map[v1.PodConditionType]string{
		v1.PodReadyToStartContainers: "RTS", v1.PodInitialized: "Init", v1.PodReady: "R", v1.ContainersReady: "CR",
		v1.PodScheduled: "Sched", v1.AllContainersRestarting: "All",
	}
	for i, c := range s.Conditions {
		if i > 0 {
			b.WriteByte(' ')
		}
		name := short[c.Type]
		if name == "" {
			name = string(c.Type)
		}
		fmt.Fprintf(&b, "%s=%s", name, c.Status)
		if c.Reason != "" {
			fmt.Fprintf(&b, "/%s", c.Reason)
		}
	}
	b.WriteByte('\n')
	for _, c := range s.InitContainerStatuses {
		writeContainer(&b, "init ", c)
	}
	for _, c := range s.ContainerStatuses {
		writeContainer(&b, "", c)
	}
	for _, c := range s.EphemeralContainerStatuses {
		writeContainer(&b, "ephemeral ", c)
	}
	return b.String()
}

func writeContainer(b *strings.Builder, kind string, c v1.ContainerStatus) {
	fmt.Fprintf(b, "%s%s: %s", kind, c.Name, describeState(c.State))
	if c.LastTerminationState.Terminated != nil {
		fmt.Fprintf(b, " last=%s", describeState(c.LastTerminationState))
	}
	fmt.Fprintf(b, " restarts=%d", c.RestartCount)
	if c.Started != nil && *c.Started {
		b.WriteString(" started")
	}
	if c.Ready {
		b.WriteString(" ready")
	}
	if c.User != nil {
		fmt.Fprintf(b, " user=%d:%d:%s", c.User.Linux.UID, c.User.Linux.GID, strings.Trim(strings.ReplaceAll(fmt.Sprint(c.User.Linux.SupplementalGroups), " ", "+"), "[]"))
	}
	b.WriteByte('\n')
}

func describeState(s v1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "Running"
	case s.Terminated != nil:
		return fmt.Sprintf("Terminated(%d %s)", s.Terminated.ExitCode, s.Terminated.Reason)
	}
	return fmt.Sprintf("Waiting(%s)", s.Waiting.Reason)
}
