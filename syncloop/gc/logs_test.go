package gc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// printer is an in-memory log store, a snapshot, and the runtime that writes the logs.
type printer struct {
	pleg.Generator
	mu    sync.Mutex
	began time.Time
	notes []string
	text  bytes.Buffer // of the log for people
	pods  []*runtime.PodStatus
	due   map[string]error         // by pod: nil is due
	takes map[string]time.Duration // by pod, each rotation
	hangs bool                     // the runtime
}

func (s *printer) addRecord(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf("%s ", time.Since(s.began))+fmt.Sprintf(format, args...))
}

// changeState calls f with the lock held. f modifies the state.
func (s *printer) changeState(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// takeRecords returns the records since the last call.
func (s *printer) takeRecords() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.notes = nil }()
	return s.notes
}

func (s *printer) Pods() (pods []runtime.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pods {
		pods = append(pods, runtime.Pod{UID: p.UID})
	}
	return pods
}

func (s *printer) Get(uid types.UID) (*runtime.PodStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pods {
		if p.UID == uid && p.Name != "" {
			return p, nil
		}
	}
	return nil, errors.New("it cannot be seen")
}

func (s *printer) Due(l logfiles.Log, maxBytes int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err, ok := s.due[l.Pod.Name]
	return ok && maxBytes == 7, err
}

func (s *printer) Rotate(ctx context.Context, l logfiles.Log, p policy.Logs, now time.Time, reopen func(context.Context) error) error {
	s.addRecord("rotate %s/%s/%d, %d files, at %s", l.Pod.Name, l.Container, l.Attempt, p.MaxFiles, now.Sub(s.began))
	err := reopen(ctx)
	return errors.Join(err, executor.Over(nil).Sleep(context.WithoutCancel(ctx), s.takes[l.Pod.Name]))
}

func (s *printer) ReopenContainerLog(ctx context.Context, id string) error {
	s.addRecord("reopen %s", id)
	s.mu.Lock()
	hangs := s.hangs
	s.mu.Unlock()
	if !hangs {
		return nil
	}
	<-ctx.Done()
	s.addRecord("gave up %s", id)
	return ctx.Err()
}

// addPods adds a pod with a container in each state.
func (s *printer) addPods(names ...string) {
	for _, name := range names {
		p := &runtime.PodStatus{UID: types.UID("u" + name), Name: name, Namespace: "ns"}
		for state := runtime.StateUnknown; state <= runtime.StateExited; state++ {
			p.Containers = append(p.Containers, runtime.ContainerStatus{Container: runtime.Container{
				ID: name + "-" + state.String(), Name: "c", Attempt: uint32(state), State: state,
			}})
		}
		s.pods = append(s.pods, p)
	}
}

func newPrinter() *printer {
	return &printer{began: time.Now(), due: map[string]error{}, takes: map[string]time.Duration{}}
}

// runRotator runs a rotator until the bubble's test has ended.
func (s *printer) runRotator(t *testing.T, change ...func(*gc.LogsConfig)) (logs *gc.Logs, end func()) {
	config := gc.LogsConfig{
		Store: s, Runtime: s, Seen: s, Policy: policy.Logs{MaxBytes: 7}, Log: slog.New(slog.NewTextHandler(&s.text, nil)),
	}
	for _, c := range change {
		c(&config)
	}
	logs, err := gc.NewLogs(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- logs.Run(ctx) }()
	return logs, func() {
		cancel()
		require.NoError(t, <-done)
	}
}

// F95: the logs of running containers are checked every ten seconds, and rotated when due. While no
// container runs, there is no check.
func TestLogs_F95(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPrinter()
		s.due["web"], s.due["none"] = nil, nil
		s.pods = []*runtime.PodStatus{{UID: "unseen"}}
		logs, end := s.runRotator(t)
		time.Sleep(95 * time.Second)
		s.changeState(func() { s.addPods("web", "db") })
		time.Sleep(95 * time.Second)
		assert.Empty(t, s.takeRecords(), "no snapshot shows a running container")
		logs.Changed()
		time.Sleep(15 * time.Second)
		assert.Equal(t, []string{
			"3m10s rotate web/c/2, 5 files, at 3m10s", "3m10s reopen web-running",
			"3m20s rotate web/c/2, 5 files, at 3m20s", "3m20s reopen web-running",
		}, s.takeRecords())
		s.changeState(func() { s.pods = nil })
		time.Sleep(time.Minute)
		s.changeState(func() { s.addPods("web") })
		time.Sleep(time.Minute)
		assert.Empty(t, s.takeRecords())
		end()
		assert.Empty(t, s.text.String())
	})
}

// A rotation that takes long does not delay others, and is not started twice. At most MaxRotations
// run concurrently.
func TestLogs_F95_ALargeOneHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPrinter()
		s.addPods("a", "b", "c")
		s.due["a"], s.due["b"], s.due["c"] = nil, nil, nil
		s.takes["a"], s.takes["b"] = 25*time.Second, time.Second
		_, end := s.runRotator(t)
		time.Sleep(12 * time.Second)
		notes := strings.Join(s.takeRecords(), "\n")
		assert.Equal(t, 1, strings.Count(notes, "rotate a/"), notes)
		assert.Equal(t, 2, strings.Count(notes, "rotate b/"), notes)
		assert.NotContains(t, notes, "rotate c/")
		s.changeState(func() { delete(s.due, "b") })
		time.Sleep(10 * time.Second)
		notes = strings.Join(s.takeRecords(), "\n")
		assert.Equal(t, 1, strings.Count(notes, "rotate c/"), notes)
		assert.NotContains(t, notes, "rotate a/")
		time.Sleep(10 * time.Second)
		assert.Contains(t, strings.Join(s.takeRecords(), "\n"), "rotate a/")
		end()
	})
}

// F95: a failed rotation is retried at every check, and each reason is logged once.
func TestLogs_F95_Failures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPrinter()
		s.addPods("web")
		s.due["web"] = errors.New("a link")
		_, end := s.runRotator(t)
		time.Sleep(35 * time.Second)
		assert.Empty(t, s.takeRecords())
		assert.Equal(t, 1, strings.Count(s.text.String(), `err="a link"`))
		s.changeState(func() { s.due["web"], s.hangs = nil, true })
		time.Sleep(5 * time.Minute)
		notes := strings.Join(s.takeRecords(), "\n")
		assert.Contains(t, notes, "40s reopen web-running\n2m40s gave up web-running", "a runtime that hangs is given up")
		assert.Equal(t, 1, strings.Count(s.text.String(), "deadline exceeded"))
		end()
		assert.NotContains(t, s.text.String(), "context canceled", "the end of ctx is no failure")
	})
}

// Run waits for the rotations that it has started.
func TestLogs_End(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPrinter()
		s.addPods("web")
		s.due["web"], s.takes["web"] = nil, time.Minute
		_, end := s.runRotator(t)
		time.Sleep(time.Second)
		end()
		assert.Equal(t, time.Minute, time.Since(s.began))
	})
}

func TestNewLogs_NamesEveryFault(t *testing.T) {
	_, err := gc.NewLogs(gc.LogsConfig{
		Policy: policy.Logs{MaxBytes: -1, MaxFiles: 1}, Period: -1, CallTimeout: -1, MaxRotations: -1,
	})
	require.Error(t, err)
	assert.Equal(t, strings.Split(`gc: LogsConfig.Store is missing
gc: LogsConfig.Runtime is missing
gc: LogsConfig.Seen is missing
gc: LogsConfig.Policy is disabled
gc: LogsConfig.Policy.MaxFiles is less than 2
gc: LogsConfig.Period is negative
gc: LogsConfig.CallTimeout is negative
gc: LogsConfig.MaxRotations is negative`, "\n"), strings.Split(err.Error(), "\n"))
}
