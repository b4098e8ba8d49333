package podsyncertest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsyncertest"
	rt "github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// store is a podsync.StatusStore that stores statuses in memory.
type store struct {
	mu       sync.Mutex
	statuses map[types.UID]v1.PodStatus
}

func (s *store) SetPodStatus(pod *v1.Pod, status v1.PodStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses[pod.UID] = *status.DeepCopy()
}

func (s *store) ReplacePodStatus(pod *v1.Pod, status v1.PodStatus) { s.SetPodStatus(pod, status) }

func (s *store) GetPodStatus(uid types.UID) (v1.PodStatus, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, ok := s.statuses[uid]
	return *status.DeepCopy(), ok
}

func (s *store) TerminatePod(*v1.Pod) {}

// reference is package podsync on an in-memory runtime.
func reference(t *testing.T) podsyncertest.Harness {
	mem := memory.New(memory.Config{})
	start := func() podworkers.PodSyncer {
		s, err := podsync.New(podsync.Config{Runtime: mem, Status: &store{statuses: map[types.UID]v1.PodStatus{}}})
		require.NoError(t, err)
		return s
	}
	return podsyncertest.Harness{
		Syncer: start(), Runtime: mem, Restart: start,
		IgnoreStop: func(p *v1.Pod) {
			p.Annotations = map[string]string{memory.AnnotationPrefix + "main": "run=forever ignore-term"}
		},
		Exit: func(uid types.UID, code int32) error {
			for _, c := range mem.SnapshotPod(uid).Containers {
				if c.State == rt.StateRunning {
					return mem.ExitContainer(c.ID, code)
				}
			}
			return rt.ErrNotFound
		},
	}
}

func TestPodsync(t *testing.T) {
	for _, c := range podsyncertest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, reference(t)) })
		})
	}
}

// With a harness without the optional parts the other cases are skipped.
func TestRun_SkipsWhatTheHarnessHasNot(t *testing.T) {
	var skipped []string
	for _, c := range podsyncertest.Cases() {
		synctest.Test(t, func(t *testing.T) {
			h := reference(t)
			h.IgnoreStop, h.Exit, h.Restart = nil, nil, nil
			rec := run(t, c, h)
			assert.Empty(t, rec.failed)
			if rec.skipped != "" {
				skipped = append(skipped, rec.skipped)
			}
		})
	}
	assert.Equal(t, []string{
		"sync/restarts: the harness has no Exit",
		"sync/ends: the harness has no Exit",
		"sync/new-process: the harness has no Restart",
		"terminating/grace: the harness has no IgnoreStop",
		"terminating/cancelled: the harness has no IgnoreStop",
		"terminating/new-process: the harness has no Restart",
		"runtime-pod/new-process: the harness has no Restart",
		"concurrent/slow-pod: the harness has no IgnoreStop",
	}, skipped)
}

// The same on the real clock, without the cases that take time.
func TestRun(t *testing.T) {
	podsyncertest.Run(t, func(t *testing.T) podsyncertest.Harness {
		h := reference(t)
		h.IgnoreStop = nil
		return h
	})
}

// tampered is a syncer with some of its calls replaced.
type tampered struct {
	podworkers.PodSyncer
	machine     *memory.Runtime
	restarted   bool // made by Restart
	sync        func(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error)
	terminating func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, grace *int64, change podworkers.PodStatusFunc) error
	runtimePod  func(ctx context.Context, pod *rt.Pod) error
	terminated  func(ctx context.Context, pod *v1.Pod, status *rt.PodStatus) error
}

func (s *tampered) SyncPod(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, status *rt.PodStatus) (bool, error) {
	if s.sync != nil {
		return s.sync(ctx, kind, pod, mirror, status)
	}
	return s.PodSyncer.SyncPod(ctx, kind, pod, mirror, status)
}

func (s *tampered) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, status *rt.PodStatus, grace *int64, change podworkers.PodStatusFunc) error {
	if s.terminating != nil {
		return s.terminating(ctx, pod, status, grace, change)
	}
	return s.PodSyncer.SyncTerminatingPod(ctx, pod, status, grace, change)
}

func (s *tampered) SyncTerminatingRuntimePod(ctx context.Context, pod *rt.Pod) error {
	if s.runtimePod != nil {
		return s.runtimePod(ctx, pod)
	}
	return s.PodSyncer.SyncTerminatingRuntimePod(ctx, pod)
}

func (s *tampered) SyncTerminatedPod(ctx context.Context, pod *v1.Pod, status *rt.PodStatus) error {
	if s.terminated != nil {
		return s.terminated(ctx, pod, status)
	}
	return s.PodSyncer.SyncTerminatedPod(ctx, pod, status)
}

// known is a set of UIDs for syncers that are called concurrently.
type known struct{ uids sync.Map }

func (k *known) add(uid types.UID) (before bool) {
	_, before = k.uids.LoadOrStore(uid, true)
	return before
}
func (k *known) has(uid types.UID) bool { _, ok := k.uids.Load(uid); return ok }

var errBroken = errors.New("broken")

// broken is a syncer that breaks one promise, with the cases that must fail: these and no others.
type broken struct {
	how    string
	cases  []string
	tamper func(*tampered)
}

// Each broken syncer fails the cases for its broken promise, and no others.
func TestBroken(t *testing.T) {
	for _, br := range brokenSyncers {
		t.Run(strings.ReplaceAll(br.how, " ", "-"), func(t *testing.T) {
			var failed []string
			for _, c := range podsyncertest.Cases() {
				synctest.Test(t, func(t *testing.T) {
					h := reference(t)
					good, machine := h.Restart, h.Runtime.(*memory.Runtime)
					again := false
					h.Restart = func() podworkers.PodSyncer {
						s := &tampered{PodSyncer: good(), machine: machine, restarted: again}
						br.tamper(s)
						again = true
						return s
					}
					h.Syncer = h.Restart()
					if rec := run(t, c, h); len(rec.failed) > 0 {
						failed = append(failed, c.Name)
						assert.Contains(t, rec.failed[0], c.Promise)
					}
					assert.NoError(t, podworkers.Wait(t.Context(), 2*time.Hour), "calls that hang have ended")
				})
			}
			slices.Sort(failed)
			assert.Equal(t, br.cases, failed)
		})
	}
}

// Each case is failed by a broken syncer.
func TestBroken_EveryCase(t *testing.T) {
	found := map[string]bool{}
	for _, br := range brokenSyncers {
		for _, name := range br.cases {
			found[name] = true
		}
	}
	for _, c := range podsyncertest.Cases() {
		assert.True(t, found[c.Name], c.Name)
	}
}

// recorder is a T that records failures. It is read after the case has ended.
type recorder struct {
	*testing.T
	failed  []string
	skipped string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}
func (r *recorder) FailNow()                         { runtime.Goexit() }
func (r *recorder) Skipf(format string, args ...any) { r.skipped = fmt.Sprintf(format, args...) }

// run runs one case in a goroutine of its own, because FailNow ends the goroutine.
func run(t *testing.T, c podsyncertest.Case, h podsyncertest.Harness) *recorder {
	rec, done := &recorder{T: t}, make(chan struct{})
	go func() {
		defer close(done)
		c.Run(rec, h)
	}()
	<-done
	return rec
}

func TestRun_NoSyncer(t *testing.T) {
	rec := run(t, podsyncertest.Cases()[0], podsyncertest.Harness{})
	assert.Equal(t, []string{"podsyncertest: the harness has no Syncer or no Runtime"}, rec.failed)
}

// Names are distinct, and every promise is a sentence.
func TestCases(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range podsyncertest.Cases() {
		assert.False(t, seen[c.Name], c.Name)
		assert.Regexp(t, "^[A-Z].*[.]$", c.Promise)
		seen[c.Name] = true
	}
}
