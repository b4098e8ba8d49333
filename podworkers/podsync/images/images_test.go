package images_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fakeRegistry is a registry, and a runtime with images. The test sets the duration of a pull. A
// removal takes a second.
type fakeRegistry struct {
	runtime.Images
	executor executor.Executor
	takes    map[string]time.Duration // by image; default 10 s
	fails    map[string]error         // by image, or by user
	odd      func()                   // called in each pull
	mu       struct {
		sync.Mutex
		lines   []string
		present map[string]bool
		busy    int
		most    int
	}
}

func newFakeRegistry(t executor.Executor) *fakeRegistry {
	s := &fakeRegistry{executor: t, takes: map[string]time.Duration{}, fails: map[string]error{}}
	s.mu.present = map[string]bool{}
	return s
}

func (s *fakeRegistry) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lines = append(s.mu.lines, fmt.Sprintf("%g ", s.executor.Now().Sub(start).Seconds())+fmt.Sprintf(format, args...))
}

func (s *fakeRegistry) transcript() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.mu.lines
	s.mu.lines = nil
	return lines
}

func (s *fakeRegistry) enter(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.busy += by
	s.mu.most = max(s.mu.most, s.mu.busy)
}

func (s *fakeRegistry) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	s.enter(1)
	defer s.enter(-1)
	who := string(req.Pod.UID)
	if req.Auth != nil {
		who += " as " + req.Auth.Username
	}
	s.note("pull %s for %s", req.Image, who)
	if s.odd != nil {
		s.odd()
	}
	takes, ok := s.takes[req.Image]
	if !ok {
		takes = 10 * time.Second
	}
	if err := s.executor.Sleep(ctx, takes); err != nil {
		s.note("pull %s for %s: %v", req.Image, who, err)
		return "", err
	}
	if err := s.fails[req.Image]; err != nil {
		return "", err
	}
	if req.Auth != nil && s.fails[req.Auth.Username] != nil {
		return "", s.fails[req.Auth.Username]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.present[req.Image] = true
	return "ref:" + req.Image, nil
}

func (s *fakeRegistry) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	s.note("remove %s", req.Image)
	if err := s.executor.Sleep(ctx, time.Second); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.mu.present, req.Image)
	s.mu.Unlock()
	s.note("removed %s", req.Image)
	return s.fails["remove"]
}

// simulation is a Manager in one thread.
type simulation struct {
	*executor.Scheduler
	process      *executor.Process
	fakeRegistry *fakeRegistry
	images       *images.Manager
}

func newSimulation(t *testing.T, change ...func(*images.Config)) *simulation {
	b := &simulation{Scheduler: executor.NewScheduler(1, start)}
	b.process = b.NewProcess()
	b.fakeRegistry = newFakeRegistry(b.process)
	config := images.Config{Images: b.fakeRegistry, Clock: b.process.Clock()}
	for _, f := range change {
		f(&config)
	}
	var err error
	b.images, err = images.New(config)
	require.NoError(t, err)
	t.Cleanup(b.process.Crash)
	return b
}

func (b *simulation) at(seconds float64) {
	b.RunUntil(start.Add(time.Duration(seconds * float64(time.Second))))
}

// pull calls Pull for a pod and records the result.
func (b *simulation) pull(pod, image string, users ...string) (cancel func()) {
	ctx, end := executor.WithCancel(context.Background())
	req := images.PullRequest{Image: image}
	req.Pod.UID = typesUID(pod)
	for _, user := range users {
		req.Auths = append(req.Auths, runtime.Auth{Username: user})
	}
	b.process.Go(func() {
		got, err := b.images.Pull(ctx, req)
		if err != nil {
			b.fakeRegistry.note("%s: %s", pod, strings.ReplaceAll(err.Error(), "\n", "; "))
			return
		}
		b.fakeRegistry.note("%s has %s, took %s, waited %s", pod, got.Ref, got.Took, got.Waited)
	})
	b.RunUntilIdle()
	return end
}

// Those who want one image share one pull.
func TestPull_Coalesced(t *testing.T) {
	b := newSimulation(t)
	b.pull("a", "img:1")
	b.at(4)
	b.pull("b", "img:1")
	b.pull("c", "img:2")
	b.at(100)
	assert.Equal(t, []string{
		"0 pull img:1 for a", "4 pull img:2 for c", "10 a has ref:img:1, took 10s, waited 10s",
		"10 b has ref:img:1, took 10s, waited 6s", "14 c has ref:img:2, took 10s, waited 10s",
	}, b.fakeRegistry.transcript())
	b.pull("a", "img:1")
	assert.Equal(t, []string{"100 pull img:1 for a"}, b.fakeRegistry.transcript(), "a finished pull is not shared")
}

// ... and a failure as well. Other credentials are another pull.
func TestPull_SharedFailure_OtherCredentials(t *testing.T) {
	b := newSimulation(t)
	b.fakeRegistry.fails["img:1"] = errors.New("registry is down")
	b.pull("a", "img:1")
	b.pull("b", "img:1")
	b.pull("c", "img:1", "carl")
	b.at(100)
	assert.ElementsMatch(t, []string{
		"0 pull img:1 for a", "0 pull img:1 for c as carl",
		"10 a: registry is down", "10 b: registry is down", "10 c: registry is down",
	}, b.fakeRegistry.transcript())
}

// Credentials are tried in order, each in the same pull.
func TestPull_Credentials(t *testing.T) {
	b := newSimulation(t)
	b.fakeRegistry.fails["ann"], b.fakeRegistry.fails["bob"] = errors.New("not ann"), errors.New("not bob")
	b.pull("a", "img:1", "ann", "carl", "bob")
	b.at(50)
	assert.Equal(t, []string{"0 pull img:1 for a as ann", "10 pull img:1 for a as carl", "20 a has ref:img:1, took 20s, waited 20s"}, b.fakeRegistry.transcript())
	b.pull("a", "img:1", "ann", "bob")
	b.at(100)
	assert.Contains(t, b.fakeRegistry.transcript(), "70 a: not ann; not bob")
}

// If the caller that pulls is cancelled, the next caller continues the pull. If a waiting caller is
// cancelled, the other callers notice nothing.
func TestPull_CancelledPullerIsFollowed(t *testing.T) {
	b := newSimulation(t)
	first := b.pull("a", "img:1")
	second := b.pull("b", "img:1")
	third := b.pull("c", "img:1")
	b.pull("d", "img:1")
	b.at(4)
	second()
	b.at(5)
	first()
	b.at(6)
	b.at(100)
	assert.Equal(t, []string{
		"0 pull img:1 for a", "4 b: context canceled", "5 pull img:1 for a: context canceled", "5 a: context canceled",
		"5 pull img:1 for c", "15 c has ref:img:1, took 15s, waited 15s", "15 d has ref:img:1, took 15s, waited 15s",
	}, b.fakeRegistry.transcript())
	third()
}

// A pull that everybody has left is over: its place is free.
func TestPull_LeftByAll(t *testing.T) {
	b := newSimulation(t, func(c *images.Config) { c.MaxPulls = 1 })
	first := b.pull("a", "img:1")
	waits := b.pull("b", "img:2")
	b.pull("c", "img:3")
	waits()
	b.at(3)
	first()
	b.at(100)
	assert.Equal(t, []string{
		"0 pull img:1 for a", "0 b: context canceled", "3 pull img:1 for a: context canceled",
		"3 a: context canceled", "3 pull img:3 for c", "13 c has ref:img:3, took 10s, waited 13s",
	}, b.fakeRegistry.transcript())
}

// IM-6: at most so many at once, in order of arrival; a registry that hangs
// leaves room for the others.
func TestPull_IM6_Limits(t *testing.T) {
	b := newSimulation(t, func(c *images.Config) { c.MaxPulls, c.MaxPullsPerRegistry = 3, 2 })
	for i := range 4 {
		b.pull(fmt.Sprint("a", i), fmt.Sprintf("slow.io/img:%d", i))
	}
	b.pull("b", "img:1")
	b.pull("c", "img:2")
	b.pull("late", "slow.io/img:2")
	b.at(9)
	assert.Equal(t, []string{"0 pull slow.io/img:0 for a0", "0 pull slow.io/img:1 for a1", "0 pull img:1 for b"}, b.fakeRegistry.transcript())
	b.at(100)
	assert.ElementsMatch(t, []string{
		"10 a0 has ref:slow.io/img:0, took 10s, waited 10s", "10 a1 has ref:slow.io/img:1, took 10s, waited 10s", "10 b has ref:img:1, took 10s, waited 10s",
		"10 pull slow.io/img:2 for a2", "10 pull slow.io/img:3 for a3", "10 pull img:2 for c",
		"20 a2 has ref:slow.io/img:2, took 10s, waited 20s", "20 late has ref:slow.io/img:2, took 10s, waited 20s",
		"20 a3 has ref:slow.io/img:3, took 10s, waited 20s", "20 c has ref:img:2, took 10s, waited 20s",
	}, b.fakeRegistry.transcript())
	assert.Equal(t, 3, b.fakeRegistry.mu.most)
}

// A pull keeps its place when the first who wanted it leaves.
func TestPull_PlaceIsThePulls(t *testing.T) {
	b := newSimulation(t, func(c *images.Config) { c.MaxPulls = 1 })
	b.pull("a", "img:1")
	second := b.pull("b", "img:2")
	b.pull("c", "img:3")
	b.pull("d", "img:2")
	second()
	b.at(11)
	assert.Equal(t, "10 pull img:2 for d", b.fakeRegistry.transcript()[3])
}

// A pull that hangs fails for all callers after an hour. The time in the queue does not count.
func TestPull_Timeout(t *testing.T) {
	b := newSimulation(t, func(c *images.Config) { c.MaxPulls = 1 })
	b.fakeRegistry.takes["img:1"] = 100 * time.Hour
	b.fakeRegistry.takes["img:2"] = 59 * time.Minute
	b.pull("a", "img:1")
	b.pull("b", "img:1")
	b.pull("c", "img:2")
	b.at(100_000)
	assert.ElementsMatch(t, []string{
		"0 pull img:1 for a", "3600 pull img:1 for a: context deadline exceeded", "3600 a: context deadline exceeded",
		"3600 b: context deadline exceeded", "3600 pull img:2 for c", "7140 c has ref:img:2, took 59m0s, waited 1h59m0s",
	}, b.fakeRegistry.transcript())
}

// A runtime that panics takes one caller with it.
func TestPull_PanicWakesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeRegistry(executor.Over(nil))
		s.odd = func() {
			time.Sleep(time.Second)
			s.odd = nil
			panic("odd")
		}
		m, err := images.New(images.Config{Images: s})
		require.NoError(t, err)
		var all sync.WaitGroup
		all.Go(func() {
			_, err := m.Pull(t.Context(), images.PullRequest{Image: "img:1"})
			assert.EqualError(t, err, "Runtime.PullImage panicked: odd")
		})
		synctest.Wait()
		all.Go(func() {
			got, err := m.Pull(t.Context(), images.PullRequest{Image: "img:1"})
			assert.NoError(t, err)
			assert.Equal(t, "ref:img:1", got.Ref)
		})
		all.Wait()
	})
}

// Whatever the order of arrivals and departures, everybody gets an answer, and
// nothing is left behind.
func TestPull_Interleavings(t *testing.T) {
	for seed := range uint64(300) {
		b := &simulation{Scheduler: executor.NewScheduler(seed, start)}
		b.process = b.NewProcess()
		b.fakeRegistry = newFakeRegistry(b.process)
		b.images, _ = images.New(images.Config{Images: b.fakeRegistry, Clock: b.process.Clock(), MaxPulls: 2, MaxPullsPerRegistry: 1})
		var cancels []func()
		answers := 0
		names := []string{"a.io/x:1", "a.io/y:1", "b.io/x:1"}
		for i := range 12 {
			ctx, cancel := executor.WithCancel(context.Background())
			cancels = append(cancels, cancel)
			delay := time.Duration(b.Float64()*20) * time.Second
			image := names[int(b.Float64()*3)]
			b.process.Go(func() {
				if b.process.Sleep(context.Background(), delay) != nil {
					return
				}
				req := images.PullRequest{Image: image}
				req.Pod.UID = typesUID(fmt.Sprint(i))
				_, err := b.images.Pull(ctx, req)
				assert.True(t, err == nil || ctx.Err() != nil || errors.Is(err, executor.ErrCrashed), "seed %d: %v", seed, err)
				answers++
			})
			if b.Float64() < 0.5 {
				at := time.Duration(b.Float64()*40) * time.Second
				b.process.Go(func() {
					_ = b.process.Sleep(context.Background(), at)
					cancels[i]()
				})
			}
		}
		if seed%4 == 0 {
			b.at(b.Float64() * 30)
			b.process.Crash()
			assert.Zero(t, b.process.Running(), "seed %d", seed)
			continue
		}
		b.at(1000)
		assert.Equal(t, 12, answers, "seed %d", seed)
		assert.LessOrEqual(t, b.fakeRegistry.mu.most, 2)
		assert.Zero(t, b.images.Left(), "seed %d", seed)
	}
}

// A lease that was there first keeps the image, by whatever name.
func TestLease_First(t *testing.T) {
	digest := "sha256:" + strings.Repeat("1", 64)
	image := runtime.Image{ID: digest, Tags: []string{"docker.io/library/nginx:1"}, Digests: []string{"docker.io/library/nginx@" + digest}}
	for name, by := range map[string][]string{
		"short name": {"nginx:1"}, "whole name": {"docker.io/library/nginx:1"}, "digest": {"nginx@" + digest}, "id": {digest}, "held": {"alias:1", digest},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSimulation(t)
			b.process.Go(func() {
				ctx := context.Background()
				lease, err := b.images.Lease(ctx, by[0])
				require.NoError(t, err)
				for _, more := range by[1:] {
					waited, err := lease.AddName(ctx, more)
					require.NoError(t, err)
					assert.False(t, waited)
				}
				assert.True(t, b.images.InUse(image))
				sweep := b.images.Sweep()
				assert.ErrorIs(t, sweep.Remove(ctx, image), images.ErrLeased)
				lease.Release()
				lease.Release()
				assert.False(t, b.images.InUse(image))
				assert.ErrorIs(t, sweep.Remove(ctx, image), images.ErrLeased, "its container may have come since")
				sweep.End()
				next := b.images.Sweep()
				defer next.End()
				assert.NoError(t, next.Remove(ctx, image))
				b.fakeRegistry.note("done")
			})
			b.at(10)
			assert.Equal(t, []string{"0 remove " + digest, "1 removed " + digest, "1 done"}, b.fakeRegistry.transcript())
			assert.Zero(t, b.images.Left())
		})
	}
}

// A sweep also respects a lease that begins and ends during the sweep.
func TestLease_DuringASweep(t *testing.T) {
	b := newSimulation(t)
	ctx := context.Background()
	sweep := b.images.Sweep()
	lease, err := b.images.Lease(ctx, "img:1")
	require.NoError(t, err)
	lease.Release()
	assert.ErrorIs(t, sweep.Remove(ctx, runtime.Image{ID: "x", Tags: []string{"img:1"}}), images.ErrLeased)
}

// A removal that was there first is waited for: by the name, and by a reference
// that turns out to be the same image.
func TestLease_AfterARemoval(t *testing.T) {
	b := newSimulation(t)
	image := runtime.Image{ID: "id1", Tags: []string{"img:1"}}
	b.process.Go(func() {
		sweep := b.images.Sweep()
		defer sweep.End()
		assert.NoError(t, sweep.Remove(context.Background(), image))
	})
	b.at(0.5)
	b.process.Go(func() {
		lease, err := b.images.Lease(context.Background(), "img")
		require.NoError(t, err)
		b.fakeRegistry.note("other tag")
		lease.Release()
	})
	b.process.Go(func() {
		lease, err := b.images.Lease(context.Background(), "img:1")
		require.NoError(t, err)
		b.fakeRegistry.note("by name")
		lease.Release()
	})
	b.process.Go(func() {
		lease, err := b.images.Lease(context.Background(), "alias:1")
		require.NoError(t, err)
		waited, err := lease.AddName(context.Background(), "id1")
		require.NoError(t, err)
		b.fakeRegistry.note("by reference, waited %t", waited)
		lease.Release()
	})
	ctx, cancel := executor.WithCancel(context.Background())
	b.process.Go(func() {
		_, err := b.images.Lease(ctx, "img:1")
		b.fakeRegistry.note("impatient: %v", err)
	})
	b.at(0.7)
	cancel()
	b.at(5)
	lines := b.fakeRegistry.transcript()
	slices.Sort(lines)
	assert.Equal(t, []string{
		"0 remove id1", "0.5 other tag", "0.7 impatient: context canceled",
		"1 by name", "1 by reference, waited true", "1 removed id1",
	}, lines)
	assert.Zero(t, b.images.Left())
}

// A removal is not cut short, and Remove returns its error.
func TestSweep_RemoveFails(t *testing.T) {
	b := newSimulation(t)
	b.fakeRegistry.fails["remove"] = errors.New("busy")
	ctx, cancel := executor.WithCancel(context.Background())
	b.process.Go(func() {
		sweep := b.images.Sweep()
		defer sweep.End()
		assert.EqualError(t, sweep.Remove(ctx, runtime.Image{ID: "id1"}), "images: remove image id1: busy")
		assert.ErrorIs(t, sweep.Remove(ctx, runtime.Image{ID: "id2"}), context.Canceled)
	})
	b.at(0.5)
	cancel()
	b.at(5)
	assert.Equal(t, []string{"0 remove id1", "1 removed id1"}, b.fakeRegistry.transcript())
}

// Whatever the order: an image that was seen under a lease is there until the
// lease ends.
func TestLease_Interleavings(t *testing.T) {
	for seed := range uint64(300) {
		b := &simulation{Scheduler: executor.NewScheduler(seed, start)}
		b.process = b.NewProcess()
		b.fakeRegistry = newFakeRegistry(b.process)
		b.images, _ = images.New(images.Config{Images: b.fakeRegistry, Clock: b.process.Clock()})
		image := runtime.Image{ID: "id1", Tags: []string{"img:1"}}
		b.fakeRegistry.mu.present["id1"] = true
		used := 0 // containers with the image
		for range 4 {
			b.process.Go(func() {
				ctx := context.Background()
				_ = b.process.Sleep(ctx, time.Duration(b.Float64()*6)*time.Second/2)
				name := "img:1"
				if b.Float64() < 0.5 {
					name = "alias:1"
				}
				lease, err := b.images.Lease(ctx, name)
				if err != nil {
					return
				}
				defer lease.Release()
				for {
					if !b.fakeRegistry.mu.present["id1"] {
						b.fakeRegistry.mu.present["id1"] = true // pulled
					}
					_ = b.process.Yield()
					waited, err := lease.AddName(ctx, "id1")
					if err != nil {
						return
					}
					if !waited {
						break
					}
				}
				_ = b.process.Sleep(ctx, time.Duration(b.Float64()*3)*time.Second/2)
				assert.True(t, b.fakeRegistry.mu.present["id1"], "seed %d: created from nothing", seed)
				used++
			})
		}
		b.process.Go(func() {
			for range 6 {
				sweep := b.images.Sweep()
				inUse := used > 0
				_ = b.process.Sleep(context.Background(), time.Duration(b.Float64()*2)*time.Second/2)
				if !inUse {
					if sweep.Remove(context.Background(), image) == nil && used > 0 {
						assert.Fail(t, "removed under a container", "seed %d", seed)
					}
				}
				sweep.End()
			}
		})
		b.at(100)
		assert.Zero(t, b.images.Left(), "seed %d", seed)
	}
}

func TestNew_NamesEveryFault(t *testing.T) {
	_, err := images.New(images.Config{PullTimeout: -1, CallTimeout: -1})
	require.EqualError(t, err, "images: Config.Images is missing\nimages: Config.PullTimeout is negative\nimages: Config.CallTimeout is negative")
}
