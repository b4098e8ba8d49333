package plan_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// TestMemory runs the texts in testdata/memory. Each line of a block is done in turn:
//
//	at 10s                     the time is now that much
//	record a 0 exited [ended=5s] | created | running | gone     the record of the container
//	sandbox ready|lost|gone    and of the sandbox
//	image other | cpu 2        the pod is changed
//	max 20s                    the longest delay
//	attempt | creating | made a0 | failed | replaced    the executor notes it of the last start
//	made-sandbox s1            or of the last sandbox
//	forget                     the process is started again
//	decide                     print the decision
func TestMemory(t *testing.T) {
	files, err := filepath.Glob("testdata/memory/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				p := newPilot(t)
				for line := range strings.Lines(d.Input) {
					p.runCommand(strings.Fields(line))
				}
				return p.out.String()
			})
		})
	}
}

// pilot is an executor that performs the steps of a text one by one.
type pilot struct {
	t      *testing.T
	out    strings.Builder
	pod    *v1.Pod
	seen   *runtime.PodStatus
	now    time.Duration
	policy backoff.CrashLoop
	memory plan.Memory
	last   plan.Step // the last StartContainer, held or not
	made   plan.Step // the last CreateSandbox
}

func newPilot(t *testing.T) *pilot {
	p := &pilot{t: t, pod: &v1.Pod{}, seen: &runtime.PodStatus{}}
	p.pod.Spec.Containers = []v1.Container{{Name: "a", Image: "img"}}
	p.last = plan.Step{Op: plan.StartContainer, Name: "a", Container: &p.pod.Spec.Containers[0]}
	p.setSandbox("ready")
	return p
}

func (p *pilot) parseDuration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	require.NoError(p.t, err)
	return d
}

func (p *pilot) currentTime() time.Time { return epoch.Add(p.now) }

func (p *pilot) runCommand(f []string) {
	switch c := &p.pod.Spec.Containers[0]; f[0] {
	case "at":
		p.now = p.parseDuration(f[1])
	case "max":
		p.policy.Max = p.parseDuration(f[1])
	case "record":
		p.setRecord(f[1:])
	case "sandbox":
		p.setSandbox(f[1])
	case "image":
		c.Image = f[1]
	case "cpu":
		c.Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(f[1]), v1.ResourceMemory: resource.MustParse("1Mi")}
	case "forget":
		p.memory = plan.Memory{}
	case "decide":
		p.decideSteps()
	default:
		p.recordStage(f)
	}
}

func (p *pilot) recordStage(f []string) {
	switch f[0] {
	case "attempt":
		p.memory = p.memory.RecordAttempt(p.last, p.currentTime())
	case "creating":
		p.memory = p.memory.RecordStage(p.last, plan.StageCreating, "", p.currentTime())
	case "made":
		p.memory = p.memory.RecordStage(p.last, plan.StageCreated, f[1], epoch)
	case "failed":
		p.memory = p.memory.RecordStage(p.last, plan.StageFailed, "", p.currentTime())
	case "attempt-sandbox":
		p.memory = p.memory.RecordAttempt(p.made, p.currentTime())
	case "made-sandbox":
		p.memory = p.memory.RecordStage(p.made, plan.StageCreated, f[1], epoch)
	default:
		p.t.Fatalf("unknown line %q", f)
	}
}

func (p *pilot) setSandbox(state string) {
	p.seen.Sandboxes = nil
	if state != "gone" {
		p.seen.Sandboxes = []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Ready: state == "ready"}, IPs: []string{"10.0.0.1"}}}
	}
}

func (p *pilot) setRecord(f []string) {
	c := runtime.ContainerStatus{Container: runtime.Container{ID: f[0] + f[1], Name: f[0], SandboxID: "s"}}
	_, err := fmt.Sscan(f[1], &c.Attempt)
	require.NoError(p.t, err)
	p.seen.Containers = nil
	switch f[2] {
	case "gone":
		return
	case "created":
		c.State = runtime.StateCreated
	case "running":
		c.State = runtime.StateRunning
	case "exited":
		c.State, c.ExitCode = runtime.StateExited, 1
		if len(f) > 3 {
			c.FinishedAt = epoch.Add(p.parseDuration(strings.TrimPrefix(f[3], "ended=")))
		}
	}
	p.seen.Containers = []runtime.ContainerStatus{c}
}

func (p *pilot) decideSteps() {
	d := plan.Decide(p.pod, p.seen, plan.Input{Now: p.currentTime(), CrashLoop: p.policy, Memory: p.memory})
	p.memory = d.Memory
	fmt.Fprintf(&p.out, "%s:", p.now)
	for _, s := range d.Steps {
		p.keepStep(s)
		fmt.Fprintf(&p.out, " %s %s", s.Op, s.Name)
	}
	for _, h := range d.Held {
		p.keepStep(h.Step)
		fmt.Fprintf(&p.out, " %s %s waits %s until %s", h.Op, h.Name, h.Delay, h.Until.Sub(epoch))
	}
	if !d.NextAt.IsZero() {
		fmt.Fprintf(&p.out, ", again at %s", d.NextAt.Sub(epoch))
	}
	p.out.WriteByte('\n')
}

func (p *pilot) keepStep(s plan.Step) {
	switch s.Op {
	case plan.StartContainer:
		p.last = s
	case plan.CreateSandbox:
		p.made = s
	}
}

// A Memory is a value: a change of one copy does not change another.
func TestMemory_CopiesAreIndependent(t *testing.T) {
	c := &v1.Container{Name: "a"}
	start := plan.Step{Op: plan.StartContainer, Name: "a", Container: c}
	var zero plan.Memory
	one := zero.RecordStage(start, plan.StageCreated, "a0", epoch)
	two := one.RecordStage(start, plan.StageCreated, "a1", epoch)
	assert.Equal(t, "", zero.Started("a"))
	assert.Equal(t, "a0", one.Started("a"))
	assert.Equal(t, "a1", two.Started("a"))
	first := one.Replacing("a", "a0")
	second := first.Replacing("a", "")
	third := first.Replacing("b", "b0")
	assert.Empty(t, maps.Collect(one.ReplacedContainers(nil, 0)))
	assert.Equal(t, map[string]string{"a": "a0"}, maps.Collect(first.ReplacedContainers(nil, 0)))
	assert.Empty(t, maps.Collect(second.ReplacedContainers(nil, 0)))
	assert.Equal(t, map[string]string{"a": "a0", "b": "b0"}, maps.Collect(third.ReplacedContainers(nil, 0)))
}

// A container that was stopped for its next attempt is forgotten when that has run.
func TestMemory_ReplacedUntilTheNextAttemptRuns(t *testing.T) {
	w := newHarness(t, "pod policy=OnFailure\nsandbox 0 ready\na 0 running hash=other")
	d := plan.Decide(w.pod, w.st, w.planInput())
	require.True(t, d.Steps[0].Replaces, "%+v", d.Steps)
	m := d.Memory.RecordAttempt(d.Steps[0], epoch)
	decide := func(line ...string) plan.Memory {
		w.readLine("a", line)
		in := w.planInput()
		in.Memory = m
		return plan.Decide(w.pod, w.st, in).Memory
	}
	replaced := map[string]string{"a": "a0"}
	assert.Equal(t, replaced, maps.Collect(m.ReplacedContainers(w.st, 1)))
	assert.Equal(t, replaced, maps.Collect(decide("1", "created").ReplacedContainers(nil, 1)))
	assert.Equal(t, replaced, maps.Collect(decide("2", "running", "incarnation=2").ReplacedContainers(w.st, 1)))
	last := decide("3", "exited=1")
	assert.Empty(t, maps.Collect(m.ReplacedContainers(w.st, 1)))
	assert.Equal(t, replaced, maps.Collect(m.ReplacedContainers(nil, 1)), "a memory is a value")
	assert.Empty(t, maps.Collect(last.ReplacedContainers(nil, 1)))
}

// A stop for the next attempt matters only if an exit with 0 would be the end.
func TestDecide_ReplacesOnlyWhatSuccessWouldEnd(t *testing.T) {
	for policy, want := range map[string]bool{"Always": false, "OnFailure": true, "Never": false} {
		w := newHarness(t, "pod policy="+policy+"\nsandbox 0 ready\na 0 running hash=other")
		assert.Equal(t, want, plan.Decide(w.pod, w.st, w.planInput()).Steps[0].Replaces, policy)
	}
}

// A created container is started instead of a new one, if it is the only one, is in the sandbox,
// is as the spec says, and the runtime has not refused it.
func TestDecide_Reuse(t *testing.T) {
	for text, want := range map[string]string{
		"sandbox 0 ready\na 0 created":                       "a0",
		"sandbox 0 ready\na 0 created\na 1 created":          "",
		"sandbox 0 ready\nsandbox 1 ready\na 0 created in=0": "",
		"sandbox 0 ready\na 0 created hash=other":            "",
		"sandbox 0 ready\na 0 exited=1":                      "",
		"sandbox 0 lost\na 0 created":                        "",
	} {
		w := newHarness(t, text)
		d := plan.Decide(w.pod, w.st, w.planInput())
		starts := d.Starts(w.pod)
		require.Len(t, starts, 1, text)
		assert.Equal(t, want, starts[0].Reuse, text)
	}
	w := newHarness(t, "sandbox 0 ready\na 0 created")
	d := plan.Decide(w.pod, w.st, w.planInput())
	in := w.planInput()
	in.Memory = d.Memory.RecordStage(d.Steps[0], plan.StageCreated, "a0", epoch).RecordStage(d.Steps[0], plan.StageFailed, "", epoch)
	d = plan.Decide(w.pod, w.st, in)
	assert.Equal(t, "", d.Starts(w.pod)[0].Reuse, "it has failed")
}

// Steps that a crash loop has nothing to do with change nothing.
func TestMemory_OtherStepsAreNotNoted(t *testing.T) {
	var m plan.Memory
	stop := plan.Step{Op: plan.StopContainer, ID: "a0", Name: "a"}
	assert.Equal(t, m, m.RecordAttempt(stop, epoch))
	assert.Equal(t, m, m.RecordStage(stop, plan.StageCreated, "a0", epoch))
	assert.Equal(t, m, m.RecordStage(stop, plan.StageCreating, "", epoch), "it was not started before")
}

// Decide is given a memory to read, and answers another one.
func TestDecide_TheMemoryIsOnlyRead(t *testing.T) {
	w := newHarness(t, "pod main=a,b\nsandbox 0 ready\na 0 exited=1\nb 0 exited=1")
	first := plan.Decide(w.pod, w.st, w.planInput())
	in := w.planInput()
	in.Memory = first.Memory.RecordAttempt(first.Steps[0], epoch)
	before := in.Memory.Dump()
	w.readLine("a", []string{"1", "exited=1"})
	w.readLine("b", []string{"1", "exited=1"})
	second := plan.Decide(w.pod, w.st, in)
	assert.Equal(t, before, in.Memory.Dump())
	assert.NotEqual(t, before, second.Memory.Dump())
}

// A start that the runtime refuses is tried for two minutes, or, if it has failed, not
// again: another container takes its place.
func TestMemory_MayStart(t *testing.T) {
	start := plan.Step{Op: plan.StartContainer, Name: "a", Container: &v1.Container{Name: "a"}}
	made := plan.Memory{}.RecordStage(start, plan.StageCreated, "a0", epoch)
	assert.True(t, made.MayStart("a", "a0", epoch))
	refused := made.RecordStage(start, plan.StageRefused, "", epoch).RecordStage(start, plan.StageRefused, "", epoch.Add(time.Minute))
	assert.True(t, refused.MayStart("a", "a0", epoch.Add(2*time.Minute-1)))
	assert.False(t, refused.MayStart("a", "a0", epoch.Add(2*time.Minute)))
	assert.True(t, refused.MayStart("a", "a1", epoch.Add(2*time.Minute)))
	assert.True(t, refused.MayStart("b", "a0", epoch.Add(2*time.Minute)))
	assert.True(t, refused.RecordStage(start, plan.StageCreated, "a1", epoch).RecordStage(start, plan.StageRefused, "", epoch.Add(2*time.Minute)).MayStart("a", "a1", epoch.Add(3*time.Minute)))
	failed := refused.RecordStage(start, plan.StageFailed, "", epoch)
	assert.False(t, failed.MayStart("a", "a0", epoch))
	assert.False(t, failed.RecordStage(start, plan.StageRefused, "", epoch).MayStart("a", "a0", epoch), "for good")
}

// Copies of a Memory with many containers share the unchanged containers.
func TestMemory_ManyContainers(t *testing.T) {
	var m plan.Memory
	var all []plan.Memory
	var names []string
	const n = 1000
	name := func(i int) string { return fmt.Sprintf("c%04d", i) }
	for i := range n / 2 { // From the middle upwards and downwards.
		for _, i := range [...]int{n/2 + i, n/2 - 1 - i} {
			all = append(all, m)
			names = append(names, name(i))
			m = m.SetWaitingReason(name(i), plan.Reason{Reason: name(i)})
		}
	}
	for i, before := range all {
		assert.Equal(t, plan.Reason{}, before.WaitingReason(names[i]))
		assert.Equal(t, plan.Reason{Reason: names[i]}, m.WaitingReason(names[i]))
	}
	for _, name := range []string{name(0), name(n - 1)} {
		assert.Less(t, testing.AllocsPerRun(10, func() { m.SetWaitingReason(name, plan.Reason{Reason: "other"}) }), 40.0)
		assert.Equal(t, 0.0, testing.AllocsPerRun(10, func() { m.SetWaitingReason(name, plan.Reason{Reason: name}) }))
	}
}
