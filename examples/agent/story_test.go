package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// pods splits a table into the states of each pod: ready, status, restarts. It omits columns that depend on the time,
// and states that last no time.
func pods(out *output) map[string][]string {
	shown := map[string][]string{}
	for _, line := range out.lasting() {
		f := strings.Fields(line)
		row := strings.Join(f[1:4], " ")
		if rows := shown[f[0]]; len(rows) == 0 || rows[len(rows)-1] != row {
			shown[f[0]] = append(rows, row)
		}
	}
	return shown
}

// faults returns the errors of 6-bad.yaml in the log.
var faults = []string{
	`level=WARN msg="a manifest has a problem" fault="6-bad.yaml: line 8: spec.restartPolicy: \"Sometimes\": expected one of Always, OnFailure, Never" effect="nothing of this file runs"`,
	`level=WARN msg="a manifest has a problem" fault="6-bad.yaml: line 12: spec.containers[1].name: \"twin\": spec.containers[0] has the same name" effect="nothing of this file runs"`,
	`level=WARN msg="a manifest has a problem" fault="6-bad.yaml: line 15: spec.containers[1].ports[0].containerPort: 70000: expected 1 to 65535" effect="nothing of this file runs"`,
}

// logged returns the log without the times, and without messages that some of the examples cause on purpose: failed
// syncs, a deadline, and a probe of a container that is just being stopped because of another probe.
func logged(log string) []string {
	shown := regexp.MustCompile(`^level=\w+ msg="(a sync failed|terminating a pod past its deadline|a probe could not be made)" `)
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(log, "\n"), "\n") {
		if _, line, _ = strings.Cut(line, " "); !shown.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestStory: the transcript of the embedded examples over 70 seconds.
func TestStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, log output
		begun := time.Now()
		code := run([]string{"--listen", "", "--node-name", "N", "--for", "1m10s", "--events", "false"}, nil, &out, &log)
		assert.Equal(t, exitOK, code)
		assert.Equal(t, 70*time.Second, time.Since(begun))

		assert.True(t, strings.HasPrefix(out.String(), "NAME                          READY  STATUS                  RESTARTS        AGE\n"))
		seen := pods(&out)
		assert.Len(t, seen, 12, "and nothing of 6-bad.yaml")
		assert.Equal(t, []string{"1/1 Running 0"}, seen["web-n"])
		assert.Equal(t, []string{"1/1 Running 0", "0/1 Completed 0"}, seen["job-n"])
		assert.Equal(t, []string{"0/1 Init:0/2 0", "0/1 Init:1/2 0", "1/1 Running 0"}, seen["init-chain-n"])
		assert.Equal(t, []string{"1/1 Running 0"}, seen["stubborn-n"])
		assert.Equal(t, []string{
			"1/1 Running 0", "1/1 Running 1", "0/1 CrashLoopBackOff 1",
			"1/1 Running 2", "0/1 CrashLoopBackOff 2", "1/1 Running 3", "0/1 CrashLoopBackOff 3",
		}, seen["crash-looper-n"])
		assert.Equal(t, []string{
			"0/3 Init:0/4 0", "1/3 Init:1/4 0", "2/3 Init:3/4 0", "3/3 Running 0",
		}, seen["sidecars-n"])
		assert.Equal(t, []string{"0/1 Running 0", "1/1 Running 0", "0/1 Running 1", "1/1 Running 1"}, seen["probes-n"][:4])
		assert.Subset(t, seen["hooks-n"], []string{"1/2 CrashLoopBackOff 1", "1/2 CrashLoopBackOff 2", "1/2 CrashLoopBackOff 3"})
		assert.Equal(t, []string{
			"0/2 Init:0/1 0", "2/2 Running 0", "2/2 Running 1",
			"0/2 PodInitializing 3", "1/2 CrashLoopBackOff 3", "2/2 Running 3",
		}, seen["rules-n"])
		assert.Equal(t, "1/1 Running 0", seen["deadline-n"][0])
		assert.Equal(t, "0/1 DeadlineExceeded 0", seen["deadline-n"][len(seen["deadline-n"])-1])
		assert.Equal(t, []string{"1/2 CreateContainerConfigError 0"}, seen["config-n"])
		assert.Equal(t, []string{"2/2 Running 0"}, seen["volumes-n"])

		want := append([]string{`level=INFO msg="the agent runs" node=n containers=simulated manifests="embedded examples" listen=none socket=none`}, faults...)
		assert.Equal(t, append(want, `level=INFO msg="the agent ends" why="--for is over" on-exit=leave`), logged(log.String()))
	})
}

// TestEvents: events are printed beside the log, one line each, and repetitions are counted. In a log in JSON they are
// records.
func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out, log output
		assert.Equal(t, exitOK, run([]string{"--listen", "", "--node-name", "n", "--for", "1h"}, nil, &out, &log))
		assert.NotContains(t, out.String(), "Started")
		assert.Contains(t, log.String(), "\n00:00:00 Normal Started pod/default/web-n: Container server started\n")
		assert.Contains(t, log.String(), "\n00:00:02 Warning BackOff pod/default/crash-looper-n: Back-off restarting failed container unlucky in pod crash-looper-n_default, next try in 10s\n")
		assert.Contains(t, log.String(), " Warning BackOff pod/default/crash-looper-n: Back-off restarting failed container unlucky in pod crash-looper-n_default, next try in 5m0s (8 times)\n")
		assert.Less(t, strings.Count(log.String(), "crash-looper-n"), 36, "an hour of it is no flood")
	})
	synctest.Test(t, func(t *testing.T) {
		var out, log output
		assert.Equal(t, exitOK, run([]string{"--listen", "", "--node-name", "n", "--for", "1s", "--log-format", "json"}, nil, &out, &log))
		for line := range strings.Lines(log.String()) {
			assert.True(t, strings.HasPrefix(line, `{"time":`), line)
		}
		assert.Contains(t, log.String(), `"msg":"event","type":"Normal","reason":"Started","pod":"default/web-n","message":"Container server started"}`)
	})
}

// TestEvents_Plain: text of a container in an event stays on its line and does not control the terminal.
func TestEvents_Plain(t *testing.T) {
	var out strings.Builder
	e := &eventPrinter{out: &out, now: func() time.Time { return start }}
	e.Eventf(&v1.ObjectReference{Namespace: "default", Name: "web"}, v1.EventTypeWarning, "Unhealthy", "it said: %s", "\x1b[2Jgrün\nForged\r\x1b]0;title\a\xff\u202e")
	assert.Equal(t, "00:00:00 Warning Unhealthy pod/default/web: it said: \\x1b[2Jgrün; Forged\\r\\x1b]0;title\\a\\xff\\u202e\n", out.String())
}

// TestOnExit_Stop: all pods terminate within their grace periods. Only the pod that ignores SIGTERM takes its five
// seconds.
func TestOnExit_Stop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, log output
		signals := make(chan os.Signal, 2)
		// At a time when no probe is due, because the order would be random.
		time.AfterFunc(10200*time.Millisecond, func() { signals <- syscall.SIGTERM })
		begun := time.Now()
		code := run([]string{"--listen=", "--node-name=n", "--on-exit=stop", "--log-level=warn", "--events=false"}, signals, &out, &log)
		assert.Equal(t, exitOK, code)
		assert.Equal(t, 15200*time.Millisecond, time.Since(begun))
		assert.Equal(t, faults, logged(log.String()))
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		assert.Equal(t, strings.Fields("stubborn-n 0/1 Terminated 0 15s"), strings.Fields(lines[len(lines)-1]))
		stubborn := pods(&out)["stubborn-n"]
		assert.Equal(t, []string{"1/1 Running 0", "1/1 Terminating 0", "0/1 Terminated 0"}, stubborn)
		for _, pod := range []string{"web-n", "init-chain-n"} {
			assert.Regexp(t, `(?m)^`+pod+` +0/1 +Terminated +0 +10s$`, out.String())
		}
		assert.NotRegexp(t, `(?m)^job-n .*Terminating`, out.String(), "it has ended by itself")
	})
}

func TestSignals_TheSecondCutsItShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, log output
		signals := make(chan os.Signal, 2)
		time.AfterFunc(10*time.Second, func() { signals <- os.Interrupt })
		time.AfterFunc(11*time.Second, func() { signals <- os.Interrupt })
		begun := time.Now()
		code := run([]string{"--listen=", "--node-name=n", "--on-exit=stop", "--log-format=json"}, signals, &out, &log)
		assert.Equal(t, exitOK, code, "nothing was left behind")
		assert.Equal(t, 13*time.Second, time.Since(begun))
		assert.Contains(t, log.String(), `"msg":"the agent ends","why":"interrupt","on-exit":"stop"}`)
		// A pod without a running container may have terminated already.
		assert.Regexp(t, `"msg":"waiting for the pods to terminate; a second signal kills them","pods":\["default/[^]]*"default/stubborn-n"`, log.String())
		assert.NotContains(t, log.String(), "waiting for calls")
		assert.Contains(t, log.String(), `"msg":"the pods are killed, because of a second signal","within":6000000000`)
		assert.Contains(t, pods(&out)["stubborn-n"], "0/1 Terminated 0")
	})
}

// stuck is an agent with one pod and a runtime whose calls can hang. It is for use in a bubble.
func stuck(t *testing.T, command string, out, log *output) *agent {
	o, err := parseAgentOptions([]string{"--listen", ""})
	require.NoError(t, err)
	a, err := newAgent(o, out, log)
	require.NoError(t, err)
	rules, err := faulty.New(faulty.Config{Rules: []faulty.Rule{{Verb: command, Latency: time.Hour}}})
	require.NoError(t, err)
	a.node, err = node.New(node.Config{Runtime: rules.Wrap(memory.New(memory.Config{}), nil)})
	require.NoError(t, err)
	require.NoError(t, a.node.Apply(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "stuck", UID: "1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "img:1"}}},
	}))
	return a
}

func TestSignals_TheLastWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, log output
		a := stuck(t, faulty.StartContainer, &out, &log)
		signals := make(chan os.Signal, 2)
		time.AfterFunc(time.Second, func() { signals <- os.Interrupt; signals <- os.Interrupt })
		begun := time.Now()
		assert.EqualError(t, a.runUntilStopped(signals), "gave up: pending calls to the runtime may still take effect")
		assert.Equal(t, time.Second, time.Since(begun))
		assert.Contains(t, log.String(), `level=WARN msg="the agent does not wait for pending calls to the runtime"`)
		time.Sleep(2 * time.Hour) // What it has begun.
	})
}

// A runtime that ignores cancellation delays the exit by the node's drain timeout, and is an error.
func TestSignals_AStuckRuntimeIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, log output
		a := stuck(t, faulty.StartContainer, &out, &log)
		a.runFor = time.Second
		begun := time.Now()
		assert.ErrorContains(t, a.runUntilStopped(nil), "default/stuck")
		assert.Equal(t, 31*time.Second, time.Since(begun))
		assert.Contains(t, log.String(), `level=INFO msg="waiting for pending calls to the runtime; another signal gives up"`)
		time.Sleep(2 * time.Hour)
	})
}

// A pod that does not terminate delays the exit by its grace period and a margin.
func TestOnExit_StopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, log output
		a := stuck(t, faulty.StopContainer, &out, &log)
		a.runFor, a.stopOnExit = time.Minute, true
		begun := time.Now()
		err := a.runUntilStopped(nil)
		assert.ErrorContains(t, err, "pods were left behind: ")
		assert.ErrorContains(t, err, "pod default/stuck has not terminated: context deadline exceeded")
		assert.Equal(t, time.Minute+30*time.Second+stopMargin, time.Since(begun))
		time.Sleep(2 * time.Hour)
	})
}

// TestSignals_KilledWithinSeconds: after a second signal a hanging runtime delays the exit by seconds. A third signal
// exits at once. Pods that are left behind are an error, and the exit code is never 0.
func TestSignals_KilledWithinSeconds(t *testing.T) {
	for third, want := range map[bool]time.Duration{false: 6 * time.Second, true: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var out, log output
			a := stuck(t, faulty.StopContainer, &out, &log)
			a.stopOnExit = true
			signals := make(chan os.Signal, 3)
			time.AfterFunc(time.Minute, func() { signals <- os.Interrupt })
			time.AfterFunc(time.Minute+5*time.Second, func() { signals <- os.Interrupt })
			if third {
				time.AfterFunc(time.Minute+7*time.Second, func() { signals <- os.Interrupt; signals <- os.Interrupt })
			}
			begun := time.Now()
			err := a.runUntilStopped(signals)
			assert.ErrorContains(t, err, "pods were left behind: ")
			assert.ErrorContains(t, err, "pod default/stuck has not terminated: ")
			assert.Equal(t, time.Minute+5*time.Second+want, time.Since(begun))
			assert.Contains(t, log.String(), `msg="the pods are killed, because of a second signal" within=6s`)
			time.Sleep(2 * time.Hour)
		})
	}
}

// TestSignals_Duplicates: timeout(1) sends one signal twice, which counts as one.
func TestSignals_Duplicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan os.Signal, 3)
		out := filterSignalsOrForceExit(in, func(int) { assert.Fail(t, "there was no third one") })
		var got []time.Duration
		begun := time.Now()
		for _, at := range []time.Duration{0, 1, 99, 100, 150, 199} {
			time.Sleep(at*time.Millisecond - time.Since(begun))
			in <- os.Interrupt
			synctest.Wait()
			select {
			case <-out:
				got = append(got, at)
			default:
			}
		}
		assert.Equal(t, []time.Duration{0, 100}, got)
		close(in)
	})
}

// TestSignals_TheThirdAlwaysEnds: the third signal exits after a second, even if the agent is blocked and handles no
// signal.
func TestSignals_TheThirdAlwaysEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan os.Signal, 3)
		begun := time.Now()
		var exits []string
		out := filterSignalsOrForceExit(in, func(status int) { exits = append(exits, fmt.Sprint(status, " at ", time.Since(begun))) })
		for range 5 {
			in <- syscall.SIGTERM
			time.Sleep(duplicateSignalGap)
		}
		time.Sleep(time.Minute)
		synctest.Wait() // The race detector takes this for the order of the call and the assertion.
		assert.Equal(t, []string{"1 at 1.2s"}, exits)
		assert.Len(t, out, 3, "the agent had all three")
		close(in)
	})
}

// TestLog_NoReader: if no process reads standard error, no pod waits, and the first signal stops the agent.
func TestLog_NoReader(t *testing.T) {
	day := time.Duration(longtest.Count(10, 24)) * time.Hour
	for _, format := range []string{"text", "json"} {
		synctest.Test(t, func(t *testing.T) {
			var out output
			log := &late{free: make(chan struct{})}
			signals := make(chan os.Signal, 1)
			time.AfterFunc(day, func() { signals <- syscall.SIGTERM })
			begun := time.Now()
			code := run([]string{"--listen", "", "--node-name", "n", "--log-level", "debug", "--log-format", format}, signals, &out, log)
			assert.Equal(t, exitOK, code)
			assert.Equal(t, day+outputFlushTimeout, time.Since(begun))
			assert.Equal(t, []string{"1/1 Running 0", "0/1 Completed 0"}, pods(&out)["job-n"])
			assert.Regexp(t, `(?m)^crash-looper-n .* \d{3} \(`, out.String(), "it has gone on for the whole day")
			close(log.free)
			synctest.Wait()
			last := log.String()[strings.LastIndex(strings.TrimSuffix(log.String(), "\n"), "\n"):]
			assert.Regexp(t, `lines of the log were dropped, because standard error was not read"(,"lines":| lines=)\d+`, last)
			assert.Less(t, len(log.String()), 2<<20)
		})
	}
}

// late is a pipe that is full until it is released.
type late struct {
	output
	free chan struct{}
}

func (l *late) Write(p []byte) (int, error) {
	<-l.free
	return l.output.Write(p)
}

// slow is a reader that needs some time for each line.
type slow struct{ output }

// Write is called in a bubble.
func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	return s.output.Write(p)
}

// TestTable_TheLastLines: the last state of each pod is shown, also to a slow reader.
func TestTable_TheLastLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out slow
		var log output
		assert.Equal(t, exitOK, run([]string{"--listen=", "--node-name=n", "--on-exit=stop", "--for=10s"}, nil, &out, &log))
		last := map[string]string{}
		for line := range strings.Lines(out.String()) {
			f := strings.Fields(line)
			last[f[0]] = f[2]
		}
		delete(last, "NAME")
		assert.Equal(t, map[string]string{
			"web-n": "Terminated", "job-n": "Completed", "init-chain-n": "Terminated", "crash-looper-n": "Terminated", "stubborn-n": "Terminated",
			"probes-n": "Terminated", "hooks-n": "Terminated", "deadline-n": "Terminated", "config-n": "Terminated", "volumes-n": "Terminated",
			"rules-n": "Terminated", "sidecars-n": "Error", // As kubectl, what a sidecar has to say goes first.
		}, last)
	})
}

// closed is a pipe whose reader exits after some lines.
type closed struct{ lines int }

func (c *closed) Write(p []byte) (int, error) {
	if c.lines--; c.lines < 0 {
		return 0, errors.New("broken pipe")
	}
	return len(p), nil
}

func TestTable_NobodyReads(t *testing.T) {
	for _, lines := range []int{0, 1, 4} {
		synctest.Test(t, func(t *testing.T) {
			var log output
			out := closed{lines}
			code := run([]string{"--listen", "", "--for", "1m"}, nil, &out, &log)
			assert.Equal(t, exitOK, code)
			assert.Equal(t, -1, out.lines, "it has tried once more, and then no longer")
			assert.Equal(t, 1, strings.Count(log.String(), `msg="cannot write to the output; no more changes are printed" err="broken pipe"`))
			assert.Contains(t, log.String(), `why="--for is over"`)
		})
	}
}

// blocked is a pipe that is full until the test reads.
type blocked chan struct{}

func (b blocked) Write(p []byte) (int, error) {
	<-b
	return len(p), nil
}

// A paused reader of the output does not delay the exit.
func TestTable_AReaderPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log output
		out := make(blocked)
		begun := time.Now()
		code := run([]string{"--listen", "", "--for", "1m"}, nil, out, &log)
		assert.Equal(t, exitOK, code)
		assert.Equal(t, time.Minute+outputFlushTimeout, time.Since(begun))
		close(out)
	})
}
