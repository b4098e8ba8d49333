package pleg

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// TestTable runs the text stories about the cache and the queue, without a runtime, time or
// concurrency. All numbers are visible. Commands:
//
//	begin                    number an observation
//	list [n=N]               store a listing; without n it begins here
//	ask uid=U                RequestRelist
//	read uid=U mark=N        a reader: satisfied or blocked
//	take                     begin the next inspection
//	finish uid=U n=N [err] [hung]   the result of an inspection
//	later                    the retries are due
//	show                     the whole table
func TestTable(t *testing.T) {
	datadriven.Walk(t, "testdata/table", func(t *testing.T, path string) {
		s := &story{t: t, table: table{records: map[types.UID]*record{}, limit: 2, retryDelay: time.Second}}
		datadriven.RunTest(t, path, s.runCommand)
	})
}

type story struct {
	t     *testing.T
	table table
}

func (s *story) runCommand(t *testing.T, d *datadriven.TestData) string {
	s.t = t
	table := &s.table
	var uid string
	var n uint64
	d.MaybeScanArgs(t, "uid", &uid)
	d.MaybeScanArgs(t, "n", &n)
	switch d.Cmd {
	case "begin":
		return fmt.Sprintf("#%d\n", table.nextNumber())
	case "list":
		if n == 0 {
			n = table.nextNumber()
		}
		return s.storeList(n, parsePods(t, d.Input))
	case "ask":
		table.requestInspection(table.ensureRecord(types.UID(uid)), table.number)
		return s.formatQueue()
	case "read":
		var mark uint64
		d.ScanArgs(t, "mark", &mark)
		return s.readStatus(types.UID(uid), mark)
	case "take":
		r, number := table.startNextInspection()
		if r == nil {
			return "nothing\n"
		}
		return fmt.Sprintf("inspect %s #%d\n", r.uid, number)
	case "finish":
		var err error
		if d.HasArg("err") || d.HasArg("hung") {
			err = errors.New("boom")
		}
		return s.finishInspection(types.UID(uid), n, d.Input, err, d.HasArg("hung"))
	case "later":
		table.requestRetries()
		return s.formatQueue()
	case "show":
		return s.formatTable()
	}
	t.Fatalf("unknown command %q", d.Cmd)
	return ""
}

func (s *story) storeList(n uint64, next []runtime.Pod) string {
	changed, sameOrder := diff.Lists(nil, s.table.list, next)
	s.table.storeList(n, next, changed, sameOrder)
	return fmt.Sprintf("#%d; %s", n, s.formatQueue())
}

func (s *story) readStatus(uid types.UID, mark uint64) string {
	status, err, ok := s.table.findStatusNewerThan(uid, mark)
	if ok {
		return formatAnswer(status, err)
	}
	r := s.table.ensureRecord(uid)
	r.waiters = append(r.waiters, &waiter{mark: mark})
	s.table.requestInspection(r, mark)
	return "blocked; " + s.formatQueue()
}

func (s *story) finishInspection(uid types.UID, n uint64, input string, err error, hung bool) string {
	status := &runtime.PodStatus{UID: uid}
	for _, p := range parsePods(s.t, "pod "+string(uid)+"\n"+input) {
		for _, sb := range p.Sandboxes {
			status.Sandboxes = append(status.Sandboxes, runtime.SandboxStatus{Sandbox: sb})
		}
		for _, c := range p.Containers {
			status.Containers = append(status.Containers, runtime.ContainerStatus{Container: c})
		}
	}
	out := s.table.storeInspection(s.table.ensureRecord(uid), n, status, err, hung, time.Time{})
	var b strings.Builder
	fmt.Fprintf(&b, "%v; ", out.events)
	for _, w := range out.waiters {
		fmt.Fprintf(&b, "reader of #%d gets %s", w.mark, formatAnswer(w.status, w.err))
	}
	for _, id := range out.revived {
		fmt.Fprintf(&b, "%s is said to be back; ", id)
	}
	return b.String() + s.formatQueue()
}

func formatAnswer(status *runtime.PodStatus, err error) string {
	if err != nil {
		return fmt.Sprintf("error %v\n", err)
	}
	return fmt.Sprintf("%v\n", diff.Items(nil, status))
}

func (s *story) formatQueue() string {
	var names []string
	for _, r := range s.table.queue {
		names = append(names, string(r.uid))
	}
	for _, r := range s.table.suspects {
		names = append(names, string(r.uid)+"(hung)")
	}
	for _, r := range s.table.retryQueue {
		names = append(names, string(r.uid)+"(later)")
	}
	return fmt.Sprintf("queue %v\n", names)
}

func (s *story) formatTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "number=%d listed=%d\n", s.table.number, s.table.listNumber)
	for _, uid := range slices.Sorted(maps.Keys(s.table.records)) {
		r := s.table.records[uid]
		fmt.Fprintf(&b, "%s %v done=%d want=%d err=%v\n", uid, diff.Items(nil, r.status), r.inspectedNumber, r.wantedNumber, r.err)
	}
	return b.String()
}

// parsePods parses a listing: "pod UID", then "sandbox ID ready|gone" and "container ID created|running|exited".
func parsePods(t *testing.T, text string) []runtime.Pod {
	states := map[string]runtime.State{"created": runtime.StateCreated, "running": runtime.StateRunning, "exited": runtime.StateExited}
	var pods []runtime.Pod
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch f[0] {
		case "pod":
			pods = append(pods, runtime.Pod{UID: types.UID(strings.Join(f[1:], ""))})
		case "sandbox":
			p := &pods[len(pods)-1]
			p.Sandboxes = append(p.Sandboxes, runtime.Sandbox{ID: f[1], Ready: f[2] == "ready"})
		case "container":
			p := &pods[len(pods)-1]
			p.Containers = append(p.Containers, runtime.Container{ID: f[1], State: states[f[2]]})
		default:
			t.Fatalf("bad line %q", line)
		}
	}
	return pods
}

// TestEventsToAnnounce: a pod is announced 32 times a second, then half as often after each second
// in which that was not enough, down to once. No event is lost. A second with few events resets the
// limit.
func TestEventsToAnnounce(t *testing.T) {
	tb := table{records: map[types.UID]*record{}, retryDelay: time.Second}
	r, now := tb.ensureRecord("a"), time.Unix(1000, 0)
	for _, want := range []int{32, 16, 8, 4, 2, 1, 1} {
		n := 0
		for range 100 {
			if tb.rateLimitEvents(r, ContainerStarted, now) != 0 {
				n++
			}
		}
		if n != want {
			t.Fatalf("told %d times, not %d", n, want)
		}
		now = now.Add(time.Second)
	}
	if tb.rateLimitEvents(r, ContainerDied, now) == 0 || tb.rateLimitEvents(r, ContainerDied, now) != 0 {
		t.Fatal("it is told once a second")
	}
	now = now.Add(time.Second)
	if e := tb.rateLimitEvents(r, 0, now); e != ContainerDied {
		t.Fatalf("what waited is told first: %s", e)
	}
	if e := tb.rateLimitEvents(r, 0, now); e != 0 {
		t.Fatalf("nothing waits: %s", e)
	}
	now = now.Add(time.Second)
	for i := range 32 {
		if tb.rateLimitEvents(r, PodSync, now) == 0 {
			t.Fatalf("not told for the %dth time after a quiet second", i)
		}
	}
}
