package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/node/statedir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a bus that a test controls. It records the reports, each with the time since the start of the test. Of
// several states of a pod within one second it records the last, because a watch may leave out the others.
type scripted struct {
	messages chan message
	started  time.Time
	reports  []string
}

func (s *scripted) receiveMessage(ctx context.Context) (message, error) {
	select {
	case m := <-s.messages:
		return m, nil
	case <-ctx.Done():
		return message{}, ctx.Err()
	}
}

func (s *scripted) reportPod(state node.PodState) error {
	when := fmt.Sprintf("%v %s ", time.Since(s.started).Truncate(time.Second), state.Pod.Name)
	s.reports = slices.DeleteFunc(s.reports, func(earlier string) bool { return strings.HasPrefix(earlier, when) })
	s.reports = append(s.reports, when+state.Summary().String())
	return nil
}

// machine is a device: its disk and its runtime outlive the processes.
type machine struct {
	*testing.T
	state   string
	runtime *memory.Runtime
	clock   clock.Clock // of a bubble
	started time.Time
}

func newMachine(t *testing.T) *machine {
	c := clock.RealClock{}
	return &machine{t, t.TempDir(), memory.New(memory.Config{Clock: c}), c, c.Now()}
}

// process is one run of the gateway.
type process struct {
	*machine
	bus     *scripted
	log     *bytes.Buffer
	signals chan os.Signal
	ended   chan error
}

// startProcess starts the gateway. The bus delivers nothing by itself.
func (m *machine) startProcess() *process {
	p := &process{m, &scripted{messages: make(chan message), started: m.started}, &bytes.Buffer{}, make(chan os.Signal, 1), make(chan error, 1)}
	g := gateway{bus: p.bus, config: node.Config{
		Name: "gw", Runtime: m.runtime, Clock: m.clock, Log: slog.New(slog.NewTextHandler(p.log, nil)), Jitter: func() float64 { return 0 },
	}}
	go func() { p.ended <- g.run(m.state, "", p.signals) }()
	return p
}

// stopWithSignal sends a signal and returns the reports of the process, pod by pod: two pods that change at the same time are
// reported in any order.
func (p *process) stopWithSignal(s os.Signal) []string {
	p.signals <- s
	require.NoError(p, <-p.ended)
	slices.SortStableFunc(p.bus.reports, func(a, b string) int { return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
	return p.bus.reports
}

// podJSON returns a pod whose container takes a second to start.
func podJSON(name, spec string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q, "annotations": {"memory.podkeel.dev/c":
		"start-delay=1s run=forever ignore-term", "memory.podkeel.dev/j": "start-delay=1s run=2s"}}, "spec": %s}`, name, spec))
}

// applyAndWait delivers a pod and waits ten seconds.
func (p *process) applyAndWait(name, spec string) {
	p.bus.messages <- message{Apply: podJSON(name, spec)}
	p.clock.Sleep(10 * time.Second)
	synctest.Wait()
}

// listContainers returns the records of the pods' containers: the name of the pod, the state, and the ID.
func (m *machine) listContainers() (records []string) {
	pods, err := m.runtime.ListPods(m.Context())
	require.NoError(m, err)
	for _, pod := range pods {
		status, err := m.runtime.PodStatus(m.Context(), pod.UID)
		require.NoError(m, err)
		for _, c := range status.Containers {
			records = append(records, fmt.Sprintf("%s %s %s", pod.Name, c.State, c.ID))
		}
	}
	slices.Sort(records)
	return records
}

const (
	server = `{"terminationGracePeriodSeconds": 5, "containers": [{"name": "c", "image": "img:1"}]}`
	job    = `{"restartPolicy": "Never", "containers": [{"name": "j", "image": "img:1"}]}`
)

// restartAfterMinute stops the gateway without its pods and starts it again a minute later.
func (p *process) restartAfterMinute() (next *process, reports []string) {
	reports = p.stopWithSignal(os.Interrupt)
	p.clock.Sleep(time.Minute)
	return p.startProcess(), reports
}

// TestRun_Restart: SIGINT leaves what a kill leaves. The next process adopts the running pod and runs no job again,
// before the bus has delivered anything. SIGTERM stops the pods, and the next process runs them again.
func TestRun_Restart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		p := m.startProcess()
		p.applyAndWait("web", server)
		p.applyAndWait("job", job)
		before := m.listContainers()
		p, reports := p.restartAfterMinute()
		assert.Equal(t, []string{"10s job 0/1 ContainerCreating", "11s job 1/1 Running", "13s job 0/1 Completed", "0s web 0/1 ContainerCreating", "1s web 1/1 Running"}, reports)
		time.Sleep(2 * time.Minute)
		assert.Equal(t, before, m.listContainers(), "the same containers run")
		assert.Equal(t, []string{"1m20s job 0/1 Completed", "1m20s web 1/1 Running", "3m20s web 1/1 Terminating", "3m25s web 0/1 Terminated"}, p.stopWithSignal(syscall.SIGTERM))
		p = m.startProcess()
		time.Sleep(30 * time.Second)
		assert.Equal(t, []string{"3m25s job 0/1 Completed", "3m25s web 0/1 Error", "3m26s web 1/1 Running, 1 restart"}, p.stopWithSignal(os.Interrupt))
	})
}

// TestRun_PowerCut: the runtime has lost its records. The server starts again, and the job does not.
func TestRun_PowerCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		p := m.startProcess()
		p.applyAndWait("web", server)
		p.applyAndWait("job", job)
		p.stopWithSignal(os.Interrupt)
		m.runtime = memory.New(memory.Config{})
		p = m.startProcess()
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"20s job 0/1 Completed", "20s web 0/1 ContainerCreating", "21s web 1/1 Running"}, p.stopWithSignal(os.Interrupt))
		require.Len(t, m.listContainers(), 1)
	})
}

// TestRun_Delete: a deleted pod terminates, and stays away after a restart.
func TestRun_Delete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newMachine(t).startProcess()
		p.applyAndWait("web", server)
		p.bus.messages <- message{Delete: "default/web"}
		time.Sleep(10 * time.Second)
		p, reports := p.restartAfterMinute()
		assert.Equal(t, []string{"0s web 0/1 ContainerCreating", "1s web 1/1 Running", "10s web 1/1 Terminating", "15s web 0/1 Error"}, reports)
		time.Sleep(time.Minute)
		assert.Empty(t, p.stopWithSignal(os.Interrupt))
	})
}

// TestRun_UnreadablePod: if the file of a pod is damaged, no running pod is terminated, and the others are desired. If
// the file is missing, its pod is an orphan and terminates after 30 seconds.
func TestRun_UnreadablePod(t *testing.T) {
	for _, c := range []struct {
		what   string
		damage func(file string) error
		states []string
	}{
		{"damaged", func(file string) error { return os.Truncate(file, 100) }, []string{"other running", "web running"}},
		{"missing", os.Remove, []string{"other running"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMachine(t)
			p := m.startProcess()
			p.applyAndWait("web", server)
			p.applyAndWait("other", server)
			p.stopWithSignal(os.Interrupt)
			files, err := filepath.Glob(filepath.Join(m.state, "desired", string(node.UIDFromName("default", "web"))+"-*.json"))
			require.NoError(t, err)
			require.Len(t, files, 1)
			require.NoError(t, c.damage(files[0]))
			p = m.startProcess()
			time.Sleep(2 * time.Minute)
			var states []string
			for _, record := range m.listContainers() {
				states = append(states, record[:strings.LastIndex(record, " ")])
			}
			assert.Equal(t, c.states, states, c.what)
			p.bus.messages <- message{Delete: "default/web"} // Removes the damaged file too.
			synctest.Wait()
			p.stopWithSignal(os.Interrupt)
			p = m.startProcess()
			time.Sleep(2 * time.Minute)
			require.Len(t, m.listContainers(), 1, "after the deletion: %s", c.what)
			p.stopWithSignal(os.Interrupt)
		})
	}
}

// TestRun_UnsavedPod: a pod that cannot be saved does not run, because the next process would not know it. An invalid pod
// and an invalid name change nothing. The log contains only the beginning of a name that is too long.
func TestRun_UnsavedPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		p := m.startProcess()
		p.applyAndWait("web", `{}`)
		p.bus.messages <- message{Delete: "web"}
		p.bus.messages <- message{Delete: strings.Repeat("w", maxLine)}
		synctest.Wait()
		assert.Less(t, len(p.log.String()), maxLine/100)
		require.NoError(t, os.RemoveAll(filepath.Join(m.state, "desired")))
		p.applyAndWait("web", server)
		time.Sleep(time.Minute)
		assert.Empty(t, p.stopWithSignal(os.Interrupt))
		assert.Empty(t, m.listContainers())
		assert.Equal(t, 4, strings.Count(p.log.String(), "cannot handle a message"), p.log)
	})
}

// TestRun_SecondProcess: a second gateway with the same state directory exits with an error and touches nothing.
func TestRun_SecondProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		p := m.startProcess()
		synctest.Wait()
		require.ErrorIs(t, <-m.startProcess().ended, statedir.ErrLocked)
		p.stopWithSignal(os.Interrupt)
	})
}

// TestLines: each line is a message. A line that is not JSON or is too long is reported and skipped, and the end of the
// input closes the bus.
func TestLines(t *testing.T) {
	long := func(n int) string { return `{"delete": "` + strings.Repeat("x", n-len(`{"delete": ""}`)) + `"}` }
	var invalid []string
	l := newLines(strings.NewReader(strings.Join([]string{
		`{"delete": "default/a"}`, "no", long(maxLine - 1), long(maxLine), long(3 * maxLine), `{"delete": "default/b"}`, long(2 * maxLine), `{"delete": "default/c"}`,
	}, "\n")), io.Discard, func(err error) { invalid = append(invalid, err.Error()) })
	var received []string
	for {
		m, err := l.receiveMessage(t.Context())
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		received = append(received, fmt.Sprintf("%.10s %d", m.Delete, len(m.Delete)))
	}
	assert.Equal(t, []string{"default/a 9", "xxxxxxxxxx 1048561", "default/b 9", "default/c 9"}, received)
	assert.Equal(t, []string{
		"it is not JSON of a message: invalid character 'o' in literal null (expecting 'u')",
		"it has more than 1048576 bytes", "it has more than 1048576 bytes", "it has more than 1048576 bytes",
	}, invalid)
}

// xReader is an endless line.
type xReader struct{}

func (xReader) Read(text []byte) (int, error) {
	for i := range text {
		text[i] = 'x'
	}
	return len(text), nil
}

// TestReadLine_BoundedMemory: a line of 64 MiB is discarded without an allocation.
func TestReadLine_BoundedMemory(t *testing.T) {
	const size = 64 << 20
	reader := bufio.NewReaderSize(io.MultiReader(io.LimitReader(xReader{}, size), strings.NewReader("\n"), io.LimitReader(xReader{}, size)), maxLine)
	assert.Zero(t, testing.AllocsPerRun(1, func() { // It calls the function twice.
		if _, err := readLine(reader); !errors.Is(err, errLongLine) {
			t.Error(err)
		}
	}))
	_, err := readLine(reader)
	assert.ErrorIs(t, err, io.EOF)
}

// TestMessage_Invalid: each invalid message is refused by one sentence that says what happens now.
func TestMessage_Invalid(t *testing.T) {
	address := func(quoted string) string {
		return "nothing is deleted: " + quoted + " is no address of a pod, expected NAMESPACE/NAME, as default/web"
	}
	name := `": expected at most 253 lower case letters, digits, '-' and '.', with a letter or digit at both ends of each part`
	for line, want := range map[string]string{
		`{}`:                                             `the message is ignored: it has neither "apply" nor "delete"`,
		`null`:                                           `the message is ignored: it has neither "apply" nor "delete"`,
		`{"delete": ""}`:                                 `the message is ignored: it has neither "apply" nor "delete"`,
		`{"aply": {}}`:                                   `the message is ignored: it has neither "apply" nor "delete"`,
		`{"apply": null}`:                                `the pod is not applied: manifest: empty`,
		`{"delete": "default/web", "apply": {}}`:         `the message is ignored: it has both "apply" and "delete"`,
		`{"delete": "web"}`:                              address(`"web"`),
		`{"delete": "/web"}`:                             address(`"/web"`),
		`{"delete": "default/"}`:                         address(`"default/"`),
		`{"delete": "/"}`:                                address(`"/"`),
		`{"delete": "default//web"}`:                     address(`"default//web"`),
		`{"delete": "default/web/c"}`:                    address(`"default/web/c"`),
		`{"delete": "../web"}`:                           address(`"../web"`),
		`{"delete": "default/.."}`:                       address(`"default/.."`),
		`{"delete": "default/we\u0007b"}`:                address(`"default/we\ab"`),
		`{"delete": "default/web\n"}`:                    address(`"default/web\n"`),
		`{"delete": " default/web"}`:                     address(`" default/web"`),
		`{"delete": "Default/web"}`:                      address(`"Default/web"`),
		`{"apply": ` + string(podJSON("", job)) + `}`:    "the pod is not applied: line 1: metadata.name: missing: expected a name",
		`{"apply": ` + string(podJSON("a/b", job)) + `}`: `the pod is not applied: line 1: metadata.name: "a/b` + name,
		`{"apply": ` + strings.Replace(string(podJSON("web", job)), `"memory.podkeel.dev/c"`, `"kubernetes.io/config.mirror"`, 1) + `}`: `the pod is not applied: line 1: ` +
			`metadata.annotations[kubernetes.io/config.mirror]: "start-delay=1s run=forever ignore-term": expected none, since it marks the mirror pod of a static pod at an API server, which does not run`,
		`{"apply": ` + string(podJSON("..", job)) + `}`: `the pod is not applied: line 1: metadata.name: "..` + name,
	} {
		var m message
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		assert.EqualError(t, (&gateway{}).handleMessage(m), want, line)
	}
}
