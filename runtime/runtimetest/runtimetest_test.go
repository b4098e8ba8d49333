package runtimetest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/internal/longtest"
	rt "github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/runtime/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is what the broken runtimes are made of.
func machine() *memory.Runtime {
	m := memory.New(memory.Config{})
	m.FailPulls("nowhere.invalid/none", errors.New("no such registry"))
	m.SetImageFilesystem(1<<40, 0)
	return m
}

// answers are annotations with which the machine fails liveness and hangs for readiness.
var answers = map[string]string{
	memory.AnnotationPrefix + "main.liveness":  "fail",
	memory.AnnotationPrefix + "main.readiness": "hang",
}

func harness(r *tampered) runtimetest.Harness {
	return runtimetest.Harness{
		Runtime: r, Image: "busybox", MissingImage: "nowhere.invalid/none", Slack: 100 * time.Millisecond, HandlerAnnotations: answers, LogDir: r.logDir,
		CheckEnv:        func(name, value string) []string { return []string{"has-env", name, value} },
		CheckWorkingDir: func(dir string) []string { return []string{"in-dir", dir} },
		ExitOnSignal:    func(signal string) []string { return []string{"ends-by", signal} }, Descendant: []string{"descendant"}, CountHeartbeats: r.counted,
	}
}

// reopening is a harness that can restart the agent.
func reopening(r *tampered) runtimetest.Harness {
	h := harness(r)
	h.Reopen = func(meanwhile func()) (rt.Runtime, error) {
		meanwhile()
		r.reopened()
		return r, nil
	}
	return h
}

// imageless is a harness for a runtime without images.
func imageless(r *tampered) runtimetest.Harness {
	h := harness(r)
	h.Image, h.MissingImage, h.NoImages = "", "", true
	hasNoImages(r)
	return h
}

// run runs one case in a goroutine of its own, which FailNow ends.
func run(c runtimetest.Case, h runtimetest.Harness) *recorder {
	rec := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(rec, h)
	}()
	<-done
	return rec
}

// verdict runs one case against one runtime, in a bubble of its own.
func verdict(t *testing.T, c runtimetest.Case, harness func(*tampered) runtimetest.Harness, tamper func(*tampered)) (rec *recorder) {
	synctest.Test(t, func(t *testing.T) {
		r := newTampered(machine())
		r.logDir = t.TempDir()
		h := harness(r)
		if tamper != nil {
			tamper(r)
		}
		rec = run(c, h)
		time.Sleep(48 * time.Hour) // Calls that were blocked come to an end.
	})
	return rec
}

// kinds are the harnesses under which runtimes are broken, with those that are.
var kinds = []struct {
	name    string
	harness func(*tampered) runtimetest.Harness
	broken  []broken
}{
	{"plain", harness, slices.Concat(brokenRuntimes, brokenFeatures, brokenStreams)},
	{"reopening", reopening, brokenSurvival},
	{"without images", imageless, brokenImageless},
}

// skips are the cases that a harness does not have run on a whole runtime.
func skips(c runtimetest.Case, kind string) bool {
	group, _, _ := strings.Cut(c.Name, "/")
	switch {
	case c.Name == "image/none":
		return kind != "without images"
	case group == "image" || c.Name == "container/no-image" || c.Name == "disk/pull" || c.Name == "disk/used":
		return kind == "without images"
	}
	return group == "reopen" && kind != "reopening"
}

func TestCases_PassOnAWholeRuntime(t *testing.T) {
	for _, kind := range kinds {
		for _, c := range runtimetest.Cases() {
			rec := verdict(t, c, kind.harness, nil)
			assert.False(t, rec.failed, "%s: %s: %s", kind.name, c.Name, rec.said)
			assert.Equal(t, skips(c, kind.name), rec.skipped, "%s: %s", kind.name, c.Name)
		}
	}
}

// Each broken runtime fails exactly the cases about the promise that it breaks, and each case fails
// for some runtime.
func TestCases_FailOnABrokenRuntime(t *testing.T) {
	noticed := map[string]bool{}
	stride := longtest.Stride(len(runtimetest.Cases()), 10)
	for _, kind := range kinds {
		for i, b := range kind.broken {
			t.Run(b.how, func(t *testing.T) {
				var failed []string
				for j, c := range runtimetest.Cases() {
					if (i+j)%stride != 0 && !slices.Contains(b.cases, c.Name) {
						continue // The short form tries some of the cases that have to pass.
					}
					rec := verdict(t, c, kind.harness, b.tamper)
					if !rec.failed {
						continue
					}
					failed = append(failed, c.Name)
					noticed[c.Name] = true
					assert.Contains(t, rec.said, "promise: "+c.Promise)
				}
				assert.Equal(t, b.cases, failed)
			})
		}
	}
	for _, c := range runtimetest.Cases() {
		assert.True(t, noticed[c.Name], "no broken runtime fails %s", c.Name)
	}
}

func TestCases_AreNamedAndSayWhatTheyPromise(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range runtimetest.Cases() {
		require.False(t, seen[c.Name], "%s is there twice", c.Name)
		seen[c.Name] = true
		require.Equal(t, 1, strings.Count(c.Name, "/"), c.Name)
		require.NotEmpty(t, c.Promise, c.Name)
	}
}

// Cases of a feature that the runtime lacks are skipped, with the reason.
func TestCases_SkipWhatTheRuntimeCannotDo(t *testing.T) {
	optional := []string{"events", "report", "exec", "exec-stream", "log", "stats", "disk", "update", "answer", "reopen"}
	for _, c := range runtimetest.Cases() {
		rec := verdict(t, c, func(r *tampered) runtimetest.Harness {
			h := harness(r)
			h.Runtime = struct{ rt.Runtime }{h.Runtime}
			return h
		}, nil)
		group, _, _ := strings.Cut(c.Name, "/")
		assert.Equal(t, slices.Contains(optional, group) || c.Name == "image/none" || strings.HasPrefix(c.Name, "image/mounted"), rec.skipped, c.Name)
		assert.False(t, rec.failed, "%s: %s", c.Name, rec.said)
	}
}

func TestSkip_NamesTheReason(t *testing.T) {
	h := harness(newTampered(machine()))
	h.Skip = map[string]string{runtimetest.Cases()[0].Name: "because"}
	rec := run(runtimetest.Cases()[0], h)
	require.True(t, rec.skipped)
	require.False(t, rec.failed)
	require.Equal(t, runtimetest.Cases()[0].Name+": because", rec.said)
}

// An unknown name in Harness.Skip skips no case, although its author believes that it does.
func TestSkip_AnUnknownNameIsAnError(t *testing.T) {
	h := harness(newTampered(machine()))
	h.Skip = map[string]string{"container/exists": "because", "container/exist": "a typing error"}
	rec := run(runtimetest.Cases()[0], h)
	require.True(t, rec.failed)
	require.Equal(t, `runtimetest: Harness.Skip names the unknown case "container/exist"`, rec.said)
}

func TestHarness_SaysAllThatIsMissing(t *testing.T) {
	rec := run(runtimetest.Cases()[0], runtimetest.Harness{})
	require.True(t, rec.failed)
	require.Equal(t, "runtimetest: Harness.Runtime is nil\n"+
		"runtimetest: Harness.Image and MissingImage are required; a runtime without images sets NoImages", rec.said)
}
