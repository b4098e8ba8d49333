package main

import (
	"bytes"
	"context"
	"encoding/json"
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

func (s *scripted) receive(ctx context.Context) (message, error) {
	select {
	case m := <-s.messages:
		return m, nil
	case <-ctx.Done():
		return message{}, ctx.Err()
	}
}

func (s *scripted) report(state node.PodState) error {
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

// start starts the gateway. The bus delivers nothing by itself.
func (m *machine) start() *process {
	p := &process{m, &scripted{messages: make(chan message), started: m.started}, &bytes.Buffer{}, make(chan os.Signal, 1), make(chan error, 1)}
	g := gateway{bus: p.bus, config: node.Config{
		Name: "gw", Runtime: m.runtime, Clock: m.clock, Log: slog.New(slog.NewTextHandler(p.log, nil)), Jitter: func() float64 { return 0 },
	}}
	go func() { p.ended <- g.run(m.state, "", p.signals) }()
	return p
}

// stop sends a signal and returns the reports of the process, pod by pod: two pods that change at the same time are
// reported in any order.
func (p *process) stop(s os.Signal) []string {
	p.signals <- s
	require.NoError(p, <-p.ended)
	slices.SortStableFunc(p.bus.reports, func(a, b string) int { return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
	return p.bus.reports
}

// apply delivers a pod, whose container takes a second to start, and waits ten seconds.
func (p *process) apply(name, spec string) {
	p.bus.messages <- message{Apply: json.RawMessage(fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q, "annotations": {"memory.podkeel.dev/c":
		"start-delay=1s run=forever ignore-term", "memory.podkeel.dev/j": "start-delay=1s run=2s"}}, "spec": %s}`, name, spec))}
	p.clock.Sleep(10 * time.Second)
}

// containers returns the records of the pods' containers: the name of the pod, the state, and the ID.
func (m *machine) containers() (records []string) {
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

// restart stops the gateway without its pods and starts it again a minute later.
func (p *process) restart() (next *process, reports []string) {
	reports = p.stop(os.Interrupt)
	p.clock.Sleep(time.Minute)
	return p.start(), reports
}

// TestRun_Restart: SIGINT leaves what a kill leaves. The next process adopts the running pod and runs no job again,
// before the bus has delivered anything. SIGTERM stops the pods, and the next process runs them again.
func TestRun_Restart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		p := m.start()
		p.apply("web", server)
		p.apply("job", job)
		before := m.containers()
		p, reports := p.restart()
		assert.Equal(t, []string{"10s job 0/1 ContainerCreating", "11s job 1/1 Running", "13s job 0/1 Completed", "0s web 0/1 ContainerCreating", "1s web 1/1 Running"}, reports)
		time.Sleep(2 * time.Minute)
		assert.Equal(t, before, m.containers(), "the same containers run")
		assert.Equal(t, []string{"1m20s job 0/1 Completed", "1m20s web 1/1 Running", "3m20s web 1/1 Terminating", "3m25s web 0/1 Terminated"}, p.stop(syscall.SIGTERM))
		p = m.start()
		time.Sleep(30 * time.Second)
		assert.Equal(t, []string{"3m25s job 0/1 Completed", "3m25s web 0/1 Error", "3m26s web 1/1 Running, 1 restart"}, p.stop(os.Interrupt))
	})
}

// TestRun_PowerCut: the runtime has lost its records. The server starts again, and the job does not.
func TestRun_PowerCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		p := m.start()
		p.apply("web", server)
		p.apply("job", job)
		p.stop(os.Interrupt)
		m.runtime = memory.New(memory.Config{})
		p = m.start()
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"20s job 0/1 Completed", "20s web 0/1 ContainerCreating", "21s web 1/1 Running"}, p.stop(os.Interrupt))
		require.Len(t, m.containers(), 1)
	})
}

// TestRun_Delete: a deleted pod terminates, and stays away after a restart.
func TestRun_Delete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newMachine(t).start()
		p.apply("web", server)
		p.bus.messages <- message{Delete: "default/web"}
		time.Sleep(10 * time.Second)
		p, reports := p.restart()
		assert.Equal(t, []string{"0s web 0/1 ContainerCreating", "1s web 1/1 Running", "10s web 1/1 Terminating", "15s web 0/1 Error"}, reports)
		time.Sleep(time.Minute)
		assert.Empty(t, p.stop(os.Interrupt))
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
			p := m.start()
			p.apply("web", server)
			p.apply("other", server)
			p.stop(os.Interrupt)
			require.NoError(t, c.damage(filepath.Join(m.state, "desired", string(node.UIDFromName("default", "web"))+".json")))
			p = m.start()
			time.Sleep(2 * time.Minute)
			var states []string
			for _, record := range m.containers() {
				states = append(states, record[:strings.LastIndex(record, " ")])
			}
			assert.Equal(t, c.states, states, c.what)
			p.bus.messages <- message{Delete: "default/web"} // Removes the damaged file too.
			synctest.Wait()
			p.stop(os.Interrupt)
			p = m.start()
			time.Sleep(2 * time.Minute)
			require.Len(t, m.containers(), 1, "after the deletion: %s", c.what)
			p.stop(os.Interrupt)
		})
	}
}

// TestRun_UnsavedPod: a pod that cannot be saved does not run, because the next process would not know it. An invalid pod
// and an invalid name change nothing.
func TestRun_UnsavedPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		p := m.start()
		p.apply("web", `{}`)
		p.bus.messages <- message{Delete: "web"}
		synctest.Wait()
		require.NoError(t, os.RemoveAll(filepath.Join(m.state, "desired")))
		p.apply("web", server)
		time.Sleep(time.Minute)
		assert.Empty(t, p.stop(os.Interrupt))
		assert.Empty(t, m.containers())
		assert.Equal(t, 3, strings.Count(p.log.String(), "cannot handle a message"), p.log)
	})
}

// TestRun_SecondProcess: a second gateway with the same state directory exits with an error and touches nothing.
func TestRun_SecondProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		p := m.start()
		synctest.Wait()
		require.ErrorIs(t, <-m.start().ended, statedir.ErrLocked)
		p.stop(os.Interrupt)
	})
}

// TestLines: each line is a message. A line that is not JSON is skipped, and the end of the input closes the bus.
func TestLines(t *testing.T) {
	var invalid []string
	l := newLines(strings.NewReader(`{"delete": "default/a"}
no
{"apply": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "uid": "u1"}, "spec": `+job+`}}
`), io.Discard, func(err error) { invalid = append(invalid, err.Error()) })
	m, err := l.receive(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "default/a", m.Delete)
	m, err = l.receive(t.Context())
	require.NoError(t, err)
	pod, err := m.pod()
	require.NoError(t, err)
	assert.Equal(t, node.UIDFromName("default", "b"), pod.UID)
	_, err = l.receive(t.Context())
	require.ErrorIs(t, err, io.EOF)
	assert.Len(t, invalid, 1)
}
