package verdict_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var kinds = map[string]verdict.Kind{"liveness": verdict.Liveness, "readiness": verdict.Readiness, "startup": verdict.Startup}

// TestStories runs the texts in testdata. The agent starts at 0 s. Commands:
//
//	container                     a new one, without probes
//	add liveness [delay=0s period=10s success=1 failure=3 spread=0.5] t=1s
//	observe id=a [lost|stopped] [since=1s] [started] [ready] t=1s
//	begin liveness t=1s           an attempt
//	pass|fail|error liveness t=1s its outcome
//	probe liveness pass|fail|error t=1s   both at once
//	stop|hurry|skip t=1s
//	shows id=a                    the published status
//
// Each prints what changed, and when probes are due.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := &story{t: t}
		datadriven.RunTest(t, path, w.run)
	})
}

type story struct {
	t *testing.T
	c verdict.Container
	d *datadriven.TestData
}

func (w *story) duration(name string, def time.Duration) time.Duration {
	text := ""
	w.d.MaybeScanArgs(w.t, name, &text)
	if text == "" {
		return def
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		w.d.Fatalf(w.t, "%s: %v", name, err)
	}
	return v
}

func (w *story) kind() verdict.Kind {
	k, ok := kinds[w.d.CmdArgs[0].Key]
	if !ok {
		w.d.Fatalf(w.t, "unknown kind %q", w.d.CmdArgs[0].Key)
	}
	return k
}

func (w *story) run(t *testing.T, d *datadriven.TestData) string {
	w.d, w.t = d, t
	now := epoch.Add(w.duration("t", 0))
	outcomes := map[string]verdict.Value{"pass": verdict.Success, "fail": verdict.Failure, "error": verdict.Unknown}
	var changes []verdict.Change
	switch d.Cmd {
	case "container":
		w.c = verdict.Make(epoch)
	case "add":
		s := verdict.Spec{
			InitialDelay: w.duration("delay", 0), Period: w.duration("period", 10*time.Second),
			Timeout: time.Second, Successes: 1, Failures: 3,
		}
		spread := 0.0
		d.MaybeScanArgs(t, "success", &s.Successes)
		d.MaybeScanArgs(t, "failure", &s.Failures)
		d.MaybeScanArgs(t, "spread", &spread)
		if !w.c.AddProbe(w.kind(), s, spread, now) {
			return "known\n"
		}
	case "observe":
		f := verdict.Facts{Running: !d.HasArg("stopped"), Started: d.HasArg("started"), Ready: d.HasArg("ready")}
		f.StartedAt = epoch.Add(w.duration("since", now.Sub(epoch)))
		d.MaybeScanArgs(t, "id", &f.ID)
		changes = w.c.Observe(f, now, nil)
	case "begin":
		w.c.BeginAttempt(w.kind(), now)
	case "probe":
		w.c.BeginAttempt(w.kind(), now)
		changes = w.c.FinishAttempt(w.kind(), w.c.Generation(), outcomes[d.CmdArgs[1].Key], now, nil)
	case "pass", "fail", "error":
		changes = w.c.FinishAttempt(w.kind(), w.c.Generation(), outcomes[d.Cmd], now, nil)
	case "stop":
		changes = w.c.StopLivenessAndStartup(nil)
	case "hurry":
		w.c.MakeReadinessDue(now)
	case "skip":
		w.c.SkipMissedTicks(now)
	case "shows":
		var id string
		d.ScanArgs(t, "id", &id)
		return fmt.Sprintf("started=%v ready=%v liveness=%v\n", w.c.Started(id), w.c.Ready(id), w.c.Value(verdict.Liveness, id))
	default:
		d.Fatalf(t, "unknown command")
	}
	return w.print(changes)
}

func (w *story) print(changes []verdict.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%v of %s: %v\n", c.Kind, c.ID, c.Value)
	}
	b.WriteString("due:")
	none := true
	for _, k := range []verdict.Kind{verdict.Liveness, verdict.Readiness, verdict.Startup} {
		if due, ok := w.c.Due(k); ok {
			fmt.Fprintf(&b, " %v %v", k, due.Sub(epoch))
			none = false
		}
	}
	if none {
		b.WriteString(" nothing")
	}
	return b.String() + "\n"
}
