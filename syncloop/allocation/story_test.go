package allocation

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// TestStories runs testdata. testdata/README.md explains the commands. Each block is a story of one table, a
// command a line:
//
//	cpu N                                       the node has N cpus
//	full                                        WaitWhenFull is set
//	stay|end|arrive POD [cpu=N] [port=N] [in=D] [prio=N] [limited]   in: the end of its grace period
//	gone POD                                    a terminating pod has stopped
//	leave POD                                   a staying or waiting pod is removed
//	after D                                     time passes
//	recheck                                     the node has changed
//
// After each of the last four the table reviews the pods that wait. One handler decides by cpu and
// host ports.
func TestStories(t *testing.T) {
	for _, file := range []string{"testdata/waiting.txt", "testdata/full.txt"} {
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			s := &story{t: t}
			var b strings.Builder
			for line := range strings.Lines(d.Input) {
				fmt.Fprintln(&b, strings.TrimSpace(line))
				for _, text := range s.runCommand(strings.Fields(line)) {
					fmt.Fprintln(&b, "  "+text)
				}
			}
			return b.String()
		})
	}
}

// began is the start of every story.
var began = time.Unix(0, 0)

// story is one table with the time and the cpus of its node.
type story struct {
	t     *testing.T
	full  bool
	table *Table
	cpu   resource.Quantity
	past  time.Duration
}

// asked is a chain with one handler.
var asked = NewChain(nil)

func (s *story) currentTime() time.Time { return began.Add(s.past) }

func (s *story) runCommand(words []string) []string {
	s.t.Helper()
	if words[0] == "full" {
		s.full = true
		return nil
	}
	if s.table == nil {
		s.table = New(Config{Chain: asked, WaitWhenFull: s.full})
	}
	switch words[0] {
	case "cpu":
		s.cpu = resource.MustParse(words[1])
		return nil
	case "stay":
		pod, _, _ := s.parsePod(words[1:])
		s.table.SetStaying(pod)
		return nil
	case "end":
		pod, in, _ := s.parsePod(words[1:])
		s.table.startTermination(pod.UID, s.table.ensureRecord(pod.UID), Termination{Pod: pod, Until: s.currentTime().Add(in)})
		return nil
	case "arrive":
		pod, _, limited := s.parsePod(words[1:])
		return s.describeEffects(answerAll(s.table, s.currentTime(), s.table.Add(pod, !limited, s.currentTime(), nil), s.answerEffect))
	case "gone":
		s.table.finishTerminationOf(types.UID(words[1]))
	case "leave":
		s.table.Remove(types.UID(words[1]))
	case "recheck":
		s.table.Recheck()
	case "after":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.past += d
	default:
		s.t.Fatalf("unknown command %q", words[0])
	}
	return s.reviewTable()
}

// finishTerminationOf finishes the termination of a pod.
func (t *Table) finishTerminationOf(uid types.UID) {
	if r := t.records[uid]; r != nil {
		t.finishTermination(uid, r)
		t.dropIfEmpty(uid, r)
	}
}

// answerAll answers all questions and returns the other effects.
func answerAll(t *Table, now time.Time, effects []Effect, ask func(Effect) Answer) (others []Effect) {
	for len(effects) > 0 {
		e := effects[0]
		effects = effects[1:]
		if e.Kind == Ask {
			effects = t.Answer(e.ID, e.Revision, ask(e), now, effects)
			continue
		}
		others = append(others, e)
	}
	return others
}

func (s *story) reviewTable() (lines []string) {
	lines = s.describeEffects(answerAll(s.table, s.currentTime(), s.table.Review(s.currentTime(), nil), s.answerEffect))
	if next, timed := s.table.NextLimit(); timed {
		lines = append(lines, "next at "+next.Sub(began).String())
	}
	return lines
}

func (s *story) describeEffects(effects []Effect) (lines []string) {
	for _, e := range effects {
		text := string(e.UID) + " " + map[EffectKind]string{Admit: "is admitted", Wait: "waits", Reject: "is rejected"}[e.Kind]
		if len(e.Blockers) > 0 {
			text += fmt.Sprintf(" for %v", e.Blockers)
		}
		if e.Kind == Wait && !e.Until.IsZero() {
			text += " until " + e.Until.Sub(began).String()
		}
		if e.Answer.WaitsWhenFull {
			text += " for room"
		}
		if e.Answer.Reason != "" {
			text += ": " + e.Answer.Reason
		}
		lines = append(lines, text)
	}
	return lines
}

// parsePod parses a pod and its claims.
func (s *story) parsePod(words []string) (pod Pod, in time.Duration, limited bool) {
	s.t.Helper()
	p := &v1.Pod{}
	p.UID, p.Namespace, p.Name = types.UID(words[0]), "ns", words[0]
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}}}}
	c := &p.Spec.Containers[0]
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "cpu":
			c.Resources.Requests["cpu"] = resource.MustParse(value)
		case "port":
			c.Ports = append(c.Ports, v1.ContainerPort{HostPort: int32(s.parseNumber(value))})
		case "in":
			d, err := time.ParseDuration(value)
			if err != nil {
				s.t.Fatal(err)
			}
			in = d
		case "prio":
			n := int32(s.parseNumber(value))
			p.Spec.Priority = &n
		case "limited":
			limited = true
		default:
			s.t.Fatalf("unknown word %q", word)
		}
	}
	return asked.Pod(p, "", false), in, limited
}

func (s *story) parseNumber(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// answerEffect answers as a handler that checks host ports and cpu.
func (s *story) answerEffect(e Effect) Answer {
	for _, sums := range []Sums{e.Snapshot.Staying, e.Snapshot.Terminating} {
		for _, key := range e.Pod.Claims.Keys {
			var by types.UID
			sums.Holders(key, func(h Holder) bool { by = h.UID; return false })
			if by != "" && key.Kind == keyHostPort {
				return Answer{Reason: fmt.Sprintf("port %s of %s", key.Name, by)}
			}
		}
	}
	want := e.Pod.Claims.Quantities["cpu"]
	sum := e.Snapshot.Staying.Requested("cpu")
	sum.Add(e.Snapshot.Terminating.Requested("cpu"))
	sum.Add(want)
	if want.Sign() > 0 && sum.Cmp(s.cpu) > 0 {
		return Answer{Reason: fmt.Sprintf("cpu %s of %s", sum.String(), s.cpu.String()), Shortage: shortOf("cpu", want, s.cpu)}
	}
	return Answer{Admit: true}
}

// shortOf returns the shortage of a pod that claims more of a resource than is left.
func shortOf(name v1.ResourceName, want, capacity resource.Quantity) Shortage {
	room := capacity.DeepCopy()
	room.Sub(want)
	return Shortage{resource: name, room: room}
}
