package admission_test

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

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// TestQueue runs testdata. Each block is a story of one queue, a command a
// line:
//
//	cpu N                                       what the node has
//	full                                        pods wait when it is full
//	stay|end|arrive POD [cpu=N] [port=N] [in=D] [prio=N] [limited]   in: when it should have ended
//	gone POD                                    what was ending has ended
//	leave POD                                   it stays, or waits, no longer
//	after D                                     time passes
//	recheck                                     the node has changed
//
// After each of the last four the queue is asked what is new.
func TestQueue(t *testing.T) {
	for _, file := range []string{"testdata/waiting.txt", "testdata/full.txt"} {
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			s := &story{t: t}
			var b strings.Builder
			for line := range strings.Lines(d.Input) {
				fmt.Fprintln(&b, strings.TrimSpace(line))
				for _, told := range s.command(strings.Fields(line)) {
					fmt.Fprintln(&b, "  "+told)
				}
			}
			return b.String()
		})
	}
}

// began is when every story begins.
var began = time.Unix(0, 0)

type story struct {
	t              *testing.T
	admissionQueue admission.Queue
	cpu            resource.Quantity
	items          map[types.UID]admission.Item
	past           time.Duration
}

func (s *story) now() time.Time { return began.Add(s.past) }

func (s *story) command(words []string) []string {
	s.t.Helper()
	switch words[0] {
	case "cpu":
		s.cpu = resource.MustParse(words[1])
		return nil
	case "full":
		s.admissionQueue.WaitWhenFull = true
		return nil
	case "stay":
		item, _, _ := s.pod(words[1:])
		s.admissionQueue.Stay(item)
		return nil
	case "end":
		item, in, _ := s.pod(words[1:])
		s.admissionQueue.End(item, s.now().Add(in))
		return nil
	case "arrive":
		item, _, limited := s.pod(words[1:])
		return []string{s.tell(s.admissionQueue.Admit(item, !limited, s.now(), s.ask))}
	case "gone":
		s.admissionQueue.Ended(types.UID(words[1]))
	case "leave":
		s.admissionQueue.Leave(types.UID(words[1]))
	case "recheck":
		s.admissionQueue.Recheck()
	case "after":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.past += d
	default:
		s.t.Fatalf("unknown command %q", words[0])
	}
	return s.review()
}

func (s *story) review() (told []string) {
	decisions, next, timed := s.admissionQueue.Review(s.now(), s.ask)
	for _, d := range decisions {
		told = append(told, s.tell(d))
	}
	if timed {
		told = append(told, "next at "+next.Sub(began).String())
	}
	return told
}

func (s *story) tell(d admission.Decision) string {
	text := string(d.UID) + " " + map[admission.Verdict]string{admission.Admitted: "is admitted", admission.Waits: "waits", admission.Refused: "is refused"}[d.Verdict]
	if len(d.For) > 0 {
		text += fmt.Sprintf(" for %v", d.For)
	}
	if d.Verdict == admission.Waits && !d.Until.IsZero() {
		text += " until " + d.Until.Sub(began).String()
	}
	if d.Answer.Full {
		text += " until there is room"
	}
	if d.Answer.Reason != "" {
		text += ": " + d.Answer.Reason
	}
	return text
}

// pod reads what a pod takes, and remembers it.
func (s *story) pod(words []string) (item admission.Item, in time.Duration, limited bool) {
	s.t.Helper()
	item = admission.Item{UID: types.UID(words[0]), Namespace: "ns", Name: words[0]}
	item.Requests = v1.ResourceList{}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "cpu":
			item.Requests["cpu"] = resource.MustParse(value)
		case "port":
			n, err := strconv.Atoi(value)
			if err != nil {
				s.t.Fatal(err)
			}
			item.Ports = append(item.Ports, podspec.HostPort{IP: "0.0.0.0", Protocol: "TCP", Port: int32(n)})
		case "in":
			d, err := time.ParseDuration(value)
			if err != nil {
				s.t.Fatal(err)
			}
			in = d
		case "prio":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				s.t.Fatal(err)
			}
			item.Priority = int32(n)
		case "limited":
			limited = true
		default:
			s.t.Fatalf("unknown word %q", word)
		}
	}
	if s.items == nil {
		s.items = map[types.UID]admission.Item{}
	}
	s.items[item.UID] = item
	return item, in, limited
}

// ask is admission by cpu and by host ports.
func (s *story) ask(uid types.UID, beside admission.Beside) admission.Answer {
	item := s.items[uid]
	for _, sums := range []admission.Taken{beside.Staying, beside.Ending} {
		if sums == nil {
			continue
		}
		for _, port := range item.Ports {
			if held, taken := sums.Holder(port); taken {
				return admission.Answer{Reason: fmt.Sprintf("port %d of %s", port.Port, held.UID)}
			}
		}
	}
	sum := beside.Staying.Requested("cpu")
	if beside.Ending != nil {
		sum.Add(beside.Ending.Requested("cpu"))
	}
	sum.Add(item.Requests["cpu"])
	if want := item.Requests["cpu"]; want.Sign() > 0 && sum.Cmp(s.cpu) > 0 {
		return admission.Answer{Reason: fmt.Sprintf("cpu %s of %s", sum.String(), s.cpu.String()), Short: admission.ShortOf("cpu", want, s.cpu)}
	}
	return admission.Answer{Admit: true}
}
