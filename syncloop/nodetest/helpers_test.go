package nodetest_test

import (
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// Pods and configurations that many tests use, and then what the tests read of a simulation.

// newPod returns a pod with one container per command.
func newPod(name string, commands ...[]string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)}}
	for i, command := range commands {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: fmt.Sprintf("c%d", i), Image: name + ":1", Command: command})
	}
	return p
}

// podOf returns a pod whose container c follows a script of the memory runtime.
func podOf(name, script string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Annotations: map[string]string{"memory.podkeel.dev/c": script}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: name + ":1"}}},
	}
}

// webPod returns a pod that runs until it is killed after its grace period of 30 s.
func webPod(name string) *v1.Pod {
	p := newPod(name, []string{"sh", "-c", "trap '' TERM; sleep infinity"})
	return p
}

// heavyPod returns a pod that requests one CPU and runs until the end of its grace period when it is stopped.
func heavyPod(name string, grace int64) *v1.Pod {
	p := newPod(name, []string{"serve"})
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	return p
}

// slowPod returns a server with a startup probe that succeeds after 10 s.
func slowPod(name string) *v1.Pod {
	p := newPod(name, []string{"serve"})
	p.Annotations = map[string]string{"memory.podkeel.dev/c0.startup": "fail for=10s; ok"}
	handler := v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}
	p.Spec.Containers[0].StartupProbe = &v1.Probe{ProbeHandler: handler, InitialDelaySeconds: 10, PeriodSeconds: 10, FailureThreshold: 24, TimeoutSeconds: 15, SuccessThreshold: 1}
	p.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: handler, PeriodSeconds: 5, FailureThreshold: 3, TimeoutSeconds: 15, SuccessThreshold: 1}
	return p
}

// staticPod returns a static pod as a file source delivers it. Each version of its manifest has its own UID.
func staticPod(version int, grace int64) *v1.Pod {
	p := newPod("static", []string{"serve", fmt.Sprint(version)})
	p.UID = types.UID(fmt.Sprintf("static-%d", version))
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
	return p
}

// decodePod decodes a manifest. The pod is an ordinary pod and not a static pod.
func decodePod(t *testing.T, text string) *v1.Pod {
	t.Helper()
	pods, err := manifest.Decode([]byte("apiVersion: v1\nkind: Pod\n" + text))
	require.NoError(t, err)
	require.Len(t, pods, 1)
	p := pods[0]
	p.UID, p.Namespace = types.UID(p.Name), "default"
	return p
}

// withInit gives the pod init containers, each with a script. One whose name begins with s is a
// sidecar.
func withInit(p *v1.Pod, scripts ...string) *v1.Pod {
	for _, text := range scripts {
		name, script, _ := strings.Cut(text, ": ")
		c := v1.Container{Name: name, Image: name + ":1"}
		if strings.HasPrefix(name, "s") {
			c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		setAnswers(p, name, script)
	}
	return p
}

// setAnswers sets the script by which a probe or hook of a container answers.
func setAnswers(p *v1.Pod, what, answers string) *v1.Pod {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations["memory.podkeel.dev/"+what] = answers
	return p
}

// tcpProbe is a probe of port 80 that is due each period of seconds.
func tcpProbe(period int32) *v1.Probe {
	return &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}},
		PeriodSeconds: period, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

// oneCPU is a node for one of them.
func oneCPU() node.Config {
	return node.Config{Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}
}

// runningContainers returns the IDs of the running containers by pod/container.
func runningContainers(machine *memory.Runtime) map[string]string {
	ids := make(map[string]string)
	for _, p := range machine.Snapshot() {
		for _, c := range p.Containers {
			if c.State == runtime.StateRunning {
				name := p.Name + "/" + c.Name
				ids[name] = strings.TrimSpace(fmt.Sprint(ids[name], " ", c.ID))
			}
		}
	}
	return ids
}

// runningNow counts the pods that run.
func runningNow(b *nodetest.Simulation) (n int) {
	for _, p := range b.Machine().Snapshot() {
		if p.MayRun() {
			n++
		}
	}
	return n
}

// sortedNames returns the sorted keys of the result of runningContainers.
func sortedNames(ids map[string]string) []string {
	var list []string
	for name := range ids {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}

// newestContainer returns the ID of the newest container of a name.
func newestContainer(t *testing.T, w nodetest.Harness, pod, name string) string {
	t.Helper()
	id, attempt := "", -1
	for _, p := range w.Machine().Snapshot() {
		for _, c := range p.Containers {
			if p.Name == pod && c.Name == name && int(c.Attempt) > attempt {
				id, attempt = c.ID, int(c.Attempt)
			}
		}
	}
	require.NotEmpty(t, id, "no container %s of pod %s", name, pod)
	return id
}

// newestSandbox returns the ID of the newest sandbox of a pod.
func newestSandbox(t *testing.T, w nodetest.Harness, pod string) string {
	t.Helper()
	id, attempt := "", -1
	for _, p := range w.Machine().Snapshot() {
		for _, s := range p.Sandboxes {
			if p.Name == pod && int(s.Attempt) > attempt {
				id, attempt = s.ID, int(s.Attempt)
			}
		}
	}
	require.NotEmpty(t, id, "no sandbox of pod %s", pod)
	return id
}

// loseNewest makes the runtime lose the newest record of a container.
func loseNewest(t *testing.T, b *nodetest.Simulation, pod, container string) {
	t.Helper()
	require.NoError(t, b.Machine().LoseContainer(newestContainer(t, b, pod, container)))
}

// isStopped reports whether no container of a pod runs.
func isStopped(p runtime.Pod) bool {
	for _, c := range p.Containers {
		if c.State == runtime.StateRunning {
			return false
		}
	}
	return true
}

// isReady reports whether the pod is in the list and has the condition Ready.
func isReady(pods []*v1.Pod, uid types.UID) bool {
	for _, p := range pods {
		for _, c := range p.Status.Conditions {
			if p.UID == uid && c.Type == v1.PodReady {
				return c.Status == v1.ConditionTrue
			}
		}
	}
	return false
}

// podState returns the phase and the reason of a pod.
func podState(b *nodetest.Simulation, uid types.UID) string {
	for _, p := range b.Node().Pods() {
		if p.UID == uid {
			return string(p.Status.Phase) + " " + p.Status.Reason
		}
	}
	return "not there"
}

// podLines returns the pods of the node as one line each, from the list of pods alone, as a client would.
func podLines(b *nodetest.Simulation) (lines []string) {
	for _, p := range b.Node().Pods() {
		lines = append(lines, p.Name+" "+node.Summarize(p, false).String())
	}
	return lines
}

// explanationSentence returns the first line of a node's explanation of a pod.
func explanationSentence(t *testing.T, b *nodetest.Simulation, uid types.UID) string {
	t.Helper()
	e, ok := b.Node().Explain(uid)
	require.True(t, ok, uid)
	return e.Sentence
}

// statusLines returns all statuses of a pod with their times, a line each, by what a question answers.
func statusLines(b *nodetest.Simulation, name string, ask func(*v1.PodStatus) string) (lines []string) {
	for _, o := range b.History(name) {
		line := o.Text
		if ask != nil {
			line = ask(&o.Status)
		}
		if line == "" || len(lines) > 0 && strings.HasSuffix(lines[len(lines)-1], " "+line) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s", o.At, line))
	}
	return lines
}

// conditionIs answers with a condition of the pod.
func conditionIs(kind v1.PodConditionType) func(*v1.PodStatus) string {
	return func(s *v1.PodStatus) string {
		for i := range s.Conditions {
			if c := &s.Conditions[i]; c.Type == kind {
				return string(c.Status)
			}
		}
		return ""
	}
}

// phaseOf answers with the phase of the pod.
func phaseOf(s *v1.PodStatus) string { return string(s.Phase) }

// callLines returns the runtime calls and events of a transcript that begin with one of the texts.
func callLines(b *nodetest.Simulation, begins ...string) (lines []string) {
	for line := range strings.Lines(b.Transcript()) {
		line = strings.NewReplacer("┌ ", "", "│ ", "", "└ ", "").Replace(strings.TrimSpace(line))
		at, call, _ := strings.Cut(line, "  ")
		if slices.ContainsFunc(begins, func(s string) bool { return strings.HasPrefix(call, s) }) {
			lines = append(lines, at+" "+call)
		}
	}
	return lines
}

// stopLines returns the StopContainer lines of a transcript, in order of time.
func stopLines(transcript string) (lines []string) {
	for line := range strings.Lines(transcript) {
		if strings.Contains(line, "StopContainer ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(lines)
	return lines
}

// linesWith returns the lines of a transcript that contain a word.
func linesWith(transcript, word string) (lines []string) {
	for line := range strings.Lines(transcript) {
		if strings.Contains(line, word) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// nextLine returns the place of the line after the call.
func nextLine() string {
	_, file, line, _ := goruntime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line+1)
}
