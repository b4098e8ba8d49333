package gc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/gc"
)

// cabinet is a store of directories in memory.
type cabinet struct {
	b    *bench
	uids []types.UID
	fail map[string]int // how often a call fails
}

func (s *cabinet) takeFailure(call string) error {
	if s.fail[call] > 0 {
		s.fail[call]--
		return errors.New("no space for " + call)
	}
	return nil
}

func (s *cabinet) Pods(of func(types.UID) bool, limit int) (found []types.UID, err error) {
	s.b.addLine("list")
	for _, uid := range s.uids {
		if len(found) < limit && of(uid) {
			found = append(found, uid)
		}
	}
	return found, s.takeFailure("list")
}

func (s *cabinet) Remove(_ context.Context, uid types.UID, gone func(types.UID) bool) error {
	if !gone(uid) {
		s.b.addLine("keep %s", uid)
		return nil
	}
	if err := s.takeFailure(string(uid)); err != nil {
		return err
	}
	s.b.addLine("tear down %s", uid)
	s.uids = slices.DeleteFunc(s.uids, func(u types.UID) bool { return u == uid })
	return nil
}

// cleaner is a simulation with Directories.
type cleaner struct {
	*simulation
	cabinet     *cabinet
	directories *gc.Directories
	removed     []types.UID
}

func newCleaner(t *testing.T, uids ...types.UID) *cleaner {
	b := &simulation{Scheduler: executor.NewScheduler(1, start)}
	b.process = b.NewProcess()
	own := b.process.Clock()
	b.bench = newBench(b.NewProcess().Clock(), own)
	c := &cleaner{simulation: b, cabinet: &cabinet{b.bench, uids, map[string]int{}}}
	var err error
	c.directories, err = gc.NewDirectories(gc.DirectoriesConfig{
		Store: c.cabinet, Runtime: b.faults.Wrap(b.machine.WithClock(own), own), Gone: b.isRemovable,
		Delay: time.Second, MaxDirectories: 3, MaxRemovals: 1, Clock: own, Log: b.newLogger(),
		Removed: func(uid types.UID) { c.removed = append(c.removed, uid) },
	})
	require.NoError(t, err)
	var ctx context.Context
	ctx, b.end = executor.WithCancel(t.Context())
	b.process.Go(func() {
		assert.NoError(t, c.directories.Run(ctx))
		b.ran = true
	})
	b.RunUntilIdle()
	t.Cleanup(func() {
		b.end()
		b.RunUntil(b.Now().Add(time.Hour))
		assert.Zero(t, b.process.Running())
	})
	return c
}

// GC-8, SP-24: directories of desired pods, and of pods with records, stay. There is no search
// without Changed.
func TestDirectories_GC8(t *testing.T) {
	c := newCleaner(t, "gone", "wanted", "dead")
	c.createStopped(t, "dead", 1)
	c.keepPod("wanted", true)
	c.runUntilSecond(1000)
	assert.Empty(t, c.takeLines())
	c.directories.Changed()
	c.directories.Changed()
	c.runUntilSecond(2000)
	assert.Equal(t, []string{"1001 list", "1002 tear down gone"}, c.takeLines())
	_, armed := c.NextTimer()
	assert.False(t, armed, "it waits for nothing")
}

// A pod that is desired again between the search and the removal keeps its directory.
func TestDirectories_AskedAgain(t *testing.T) {
	c := newCleaner(t, "a", "b")
	c.mu.asked = func(uid types.UID) {
		if uid == "b" { // Right after "a" has been found.
			c.keepPod("a", true)
		}
	}
	c.directories.Changed()
	c.runUntilSecond(10)
	assert.Equal(t, []string{"1 list", "2 tear down b"}, c.takeLines())
	assert.Equal(t, []types.UID{"b"}, c.removed)
}

// A pod that is desired again between the status call and the removal keeps its directory.
func TestDirectories_AskedLast(t *testing.T) {
	c := newCleaner(t, "a")
	asked := 0
	c.mu.asked = func(uid types.UID) {
		if asked++; asked == 3 { // After the search, and before the look.
			c.keepPod("a", true)
		}
	}
	c.directories.Changed()
	c.runUntilSecond(10)
	assert.Equal(t, []string{"1 list"}, c.takeLines())
	assert.Equal(t, 3, asked)
}

// A pod that is desired again when the store calls gone keeps its directory.
func TestDirectories_AskedByTheStore(t *testing.T) {
	c := newCleaner(t, "a")
	asked := 0
	c.mu.asked = func(uid types.UID) {
		if asked++; asked == 4 {
			c.keepPod("a", true)
		}
	}
	c.directories.Changed()
	c.runUntilSecond(10)
	assert.Equal(t, []string{"1 list", "2 keep a"}, c.takeLines())
	assert.Empty(t, c.removed)
}

// Many directories are found in several searches.
func TestDirectories_Bounded(t *testing.T) {
	var uids []types.UID
	for i := range 5 {
		uids = append(uids, types.UID(fmt.Sprint("u", i)))
	}
	c := newCleaner(t, uids...)
	c.directories.Changed()
	c.runUntilSecond(100)
	assert.Equal(t, []string{"1 list", "2 tear down u0", "2 tear down u1", "2 tear down u2", "11 list", "12 tear down u3", "12 tear down u4"}, c.takeLines())
}

// A failure is logged once and retried, also a failed search. If the runtime returns an error, all
// directories stay.
func TestDirectories_Trouble(t *testing.T) {
	c := newCleaner(t, "a")
	c.cabinet.fail["list"], c.cabinet.fail["a"] = 1, 2
	_, err := c.faults.Add(faulty.Rule{Verb: faulty.PodStatus, Do: faulty.Fail, Times: 1})
	require.NoError(t, err)
	c.directories.Changed()
	c.runUntilSecond(1000)
	const what = `level=WARN msg="directories of removed pods could not be removed; retrying" `
	assert.Equal(t, []string{
		"1 list", "1 " + what + `uid="" after=10s err="gc: search for directories: no space for list"`,
		"11 list", "12 " + what + `uid=a after=10s err="gc: pod status: faulty: injected: PodStatus"`,
		"22 " + what + `uid=a after=20s err="gc: no space for a"`, "82 tear down a",
	}, c.takeLines())
	assert.Equal(t, []types.UID{"a"}, c.removed)
}

// littered is a cabinet with what removals have left.
type littered struct {
	*cabinet
	left    int // by how many removals
	unknown bool
}

func (l *littered) Sweep(context.Context) (int, error) {
	l.b.addLine("sweep")
	switch {
	case l.unknown:
		return 0, errors.New("volumes: .trash: permission denied")
	case l.left == 0:
		return 0, nil
	}
	return l.left, errors.New("volumes: .trash/u~x: remove v: something is mounted there")
}

// The trash is removed after each search, also if no directory was found. A failure is logged once,
// and again when the number of entries grows.
func TestDirectories_SweepsWhatIsLeft(t *testing.T) {
	c := newCleaner(t)
	store := &littered{cabinet: c.cabinet, left: 1}
	own := c.process.Clock()
	directories, err := gc.NewDirectories(gc.DirectoriesConfig{
		Store: store, Runtime: c.machine.WithClock(own), Gone: c.isRemovable, Delay: time.Second, Clock: own, Log: c.newLogger(),
	})
	require.NoError(t, err)
	ctx, end := executor.WithCancel(t.Context())
	c.process.Go(func() { assert.NoError(t, directories.Run(ctx)) })
	defer func() { end(); c.RunUntil(c.Now().Add(time.Hour)) }()
	directories.Changed()
	c.runUntilSecond(40)
	store.left = 2
	c.runUntilSecond(80)
	store.left, store.unknown = 0, true
	c.runUntilSecond(160)
	store.unknown = false
	c.runUntilSecond(1000)
	const what = `level=WARN msg="directories of removed pods could not be removed; retrying" uid=. `
	assert.Equal(t, []string{
		"1 list", "2 sweep",
		"2 " + what + `after=10s err="gc: 1 removals are incomplete: volumes: .trash/u~x: remove v: something is mounted there"`,
		"12 sweep", "32 sweep", "72 sweep",
		"72 " + what + `after=1m20s err="gc: 2 removals are incomplete: volumes: .trash/u~x: remove v: something is mounted there"`,
		"152 sweep",
		"152 " + what + `after=2m40s err="gc: search for incomplete removals: volumes: .trash: permission denied"`,
		"312 sweep",
	}, c.takeLines())
}

func TestNewDirectories_NamesEveryFault(t *testing.T) {
	_, err := gc.NewDirectories(gc.DirectoriesConfig{Delay: -1, Retry: -1, MaxRetry: -1, CallTimeout: -1, MaxDirectories: -1, MaxRemovals: -1})
	require.EqualError(t, err, "gc: DirectoriesConfig.Store is missing\ngc: DirectoriesConfig.Runtime is missing\n"+
		"gc: DirectoriesConfig.Gone is missing\ngc: DirectoriesConfig.Delay is negative\ngc: DirectoriesConfig.Retry is negative\n"+
		"gc: DirectoriesConfig.MaxRetry is negative\ngc: DirectoriesConfig.CallTimeout is negative\n"+
		"gc: DirectoriesConfig.MaxDirectories is negative\ngc: DirectoriesConfig.MaxRemovals is negative")
}
