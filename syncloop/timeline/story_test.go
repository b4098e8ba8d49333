package timeline_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/timeline"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestStories runs the texts in testdata. The command is
//
//	draw [now=60s] [most=N]    the records, through a Log of at most so many, as a text
//
// and its lines are records, each with its time since the epoch:
//
//	1s phase syncing
//	1s sync SyncPod : error
//	1s action StartContainer [app] [took=2s] [: error]
//	1s backoff app until=20s
//	1s probe app readiness [: result of a check that failed]
//	1s event Reason [warning] [: message]
//	1s note : text
//	1s gone
//	1s status Running 1/1_Running [sandbox] [c=... for each container, see parseContainer]
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { datadriven.RunTest(t, file, story) })
	}
}

func story(t *testing.T, d *datadriven.TestData) string {
	require.Equal(t, "draw", d.Cmd)
	var now time.Time
	most := 0
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "now":
			now = parseTime(t, arg.Vals[0])
		case "most":
			d.ScanArgs(t, "most", &most)
		default:
			d.Fatalf(t, "no argument is called %s", arg.Key)
		}
	}
	log := timeline.NewLog(most)
	for line := range strings.Lines(d.Input) {
		log.Add(parseRecord(t, strings.TrimSpace(line)))
	}
	return timeline.Build(log.Records(), timeline.Options{Now: now, Dropped: log.Dropped()}).String()
}

func parseTime(t *testing.T, s string) time.Time {
	d, err := time.ParseDuration(s)
	require.NoError(t, err)
	return epoch.Add(d)
}

func parseRecord(t *testing.T, line string) timeline.Record {
	line, text, _ := strings.Cut(line, " : ")
	words := strings.Fields(line)
	r := timeline.Record{At: parseTime(t, words[0]), Kind: timeline.Kind(words[1])}
	rest := words[2:]
	switch r.Kind {
	case timeline.KindStatus:
		r.Status = parseStatus(t, rest)
		return r
	case timeline.KindProbe, timeline.KindBackoff:
		r.Container, rest = rest[0], rest[1:]
	}
	for _, word := range rest {
		key, value, set := strings.Cut(word, "=")
		switch {
		case key == "took":
			r.Took = parseTime(t, value).Sub(epoch)
		case key == "until":
			r.Until = parseTime(t, value)
		case word == "warning":
			r.Warning = true
		case !set && r.Name == "":
			r.Name = word
		default:
			r.Container = word
		}
	}
	if r.Kind == timeline.KindEvent || r.Kind == timeline.KindNote {
		r.Text = text
	} else {
		r.Err = text
	}
	return r
}

// parseStatus understands: Running 1/1_Running sandbox c=app,regular,...
func parseStatus(t *testing.T, words []string) *timeline.Status {
	s := &timeline.Status{Pod: "default/web", Phase: v1.PodPhase(words[0]), Summary: strings.ReplaceAll(words[1], "_", " ")}
	for _, word := range words[2:] {
		if c, is := strings.CutPrefix(word, "c="); is {
			s.Containers = append(s.Containers, parseContainer(t, strings.Split(c, ",")))
			continue
		}
		require.Equal(t, "sandbox", word)
		s.SandboxReady = true
	}
	return s
}

// parseContainer understands NAME,KIND and then any of
//
//	run=1s  run=1s..2s/0/Completed  last=...  wait=Reason  restarts=2
func parseContainer(t *testing.T, parts []string) timeline.Container {
	kinds := map[string]timeline.ContainerKind{"init": timeline.Init, "sidecar": timeline.Sidecar, "regular": timeline.Regular, "ephemeral": timeline.Ephemeral}
	c := timeline.Container{Name: parts[0], Kind: kinds[parts[1]]}
	require.NotEmpty(t, c.Kind, parts)
	for _, part := range parts[2:] {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "run":
			c.Run = parseRun(t, value)
		case "last":
			c.Last = parseRun(t, value)
		case "wait":
			c.Waiting, c.Reason = true, value
		case "restarts":
			_, err := fmt.Sscan(value, &c.Restarts)
			require.NoError(t, err)
		default:
			t.Fatalf("a container has no %s", key)
		}
	}
	return c
}

// parseRun understands FROM, FROM..TO/CODE/REASON and, for one that did not start, ..TO/CODE/REASON.
func parseRun(t *testing.T, s string) *timeline.Run {
	from, end, ended := strings.Cut(s, "..")
	r := &timeline.Run{Ended: ended}
	if from != "" {
		r.StartedAt = parseTime(t, from)
	}
	if !ended {
		return r
	}
	words := strings.Split(end, "/")
	if words[0] != "" {
		r.FinishedAt = parseTime(t, words[0])
	}
	_, err := fmt.Sscan(words[1], &r.ExitCode)
	require.NoError(t, err)
	r.Reason = words[2]
	return r
}
