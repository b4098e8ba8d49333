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

// answers are the words of the machine for what the cases ask.
var answers = map[string]string{
	memory.AnnotationPrefix + "main.liveness":  "fail",
	memory.AnnotationPrefix + "main.readiness": "hang",
}

func harness(r *tampered) runtimetest.Harness {
	return runtimetest.Harness{
		Runtime: r, Image: "busybox", MissingImage: "nowhere.invalid/none", Slack: 100 * time.Millisecond, Answers: answers,
	}
}

// verdict runs one case against one runtime, in a bubble of its own.
func verdict(t *testing.T, c runtimetest.Case, tamper func(*tampered)) *recorder {
	rec := &recorder{}
	synctest.Test(t, func(t *testing.T) {
		r := newTampered(machine())
		if tamper != nil {
			tamper(r)
		}
		done := make(chan struct{})
		go func() { // FailNow ends the goroutine.
			defer close(done)
			c.Run(rec, harness(r))
		}()
		<-done
	})
	return rec
}

func TestCases_PassOnAWholeRuntime(t *testing.T) {
	for _, c := range runtimetest.Cases() {
		rec := verdict(t, c, nil)
		assert.False(t, rec.failed || rec.skipped, c.Name)
	}
}

// Each broken runtime fails the cases that are about what it breaks, and no
// other; and each case is failed by some runtime.
func TestCases_FailOnABrokenRuntime(t *testing.T) {
	noticed := map[string]bool{}
	for _, b := range slices.Concat(brokenRuntimes, brokenPowers, brokenStreams) {
		t.Run(b.how, func(t *testing.T) {
			var failed []string
			for _, c := range runtimetest.Cases() {
				if verdict(t, c, b.tamper).failed {
					failed = append(failed, c.Name)
					noticed[c.Name] = true
				}
			}
			assert.Equal(t, b.cases, failed)
		})
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

// A runtime without a power is asked for nothing of it, and told so.
func TestCases_SkipWhatTheRuntimeCannotDo(t *testing.T) {
	for _, c := range runtimetest.Cases() {
		rec := &recorder{}
		synctest.Test(t, func(*testing.T) {
			h := harness(newTampered(machine()))
			h.Runtime = struct{ rt.Runtime }{h.Runtime}
			done := make(chan struct{})
			go func() {
				defer close(done)
				c.Run(rec, h)
			}()
			<-done
		})
		group, _, _ := strings.Cut(c.Name, "/")
		optional := slices.Contains([]string{"events", "report", "exec", "exec-stream", "log", "stats", "disk", "update", "answer"}, group)
		assert.Equal(t, optional, rec.skipped, c.Name)
		assert.False(t, rec.failed, c.Name)
	}
}

func TestSkip_NamesTheReason(t *testing.T) {
	rec := &recorder{}
	h := harness(newTampered(machine()))
	h.Skip = map[string]string{runtimetest.Cases()[0].Name: "because"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtimetest.Cases()[0].Run(rec, h)
	}()
	<-done
	require.True(t, rec.skipped)
	require.False(t, rec.failed)
}
