package statustest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status"
)

// memory is a Sink that keeps statuses, and may break the contract in one way.
type memory struct {
	mu       sync.Mutex
	statuses map[types.UID]status.Update
	broken   func(ctx context.Context, m *memory, u *status.Update) (done bool, err error)
}

func (m *memory) Send(ctx context.Context, u status.Update) error {
	if m.broken != nil {
		if done, err := m.broken(ctx, m, &u); done {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if u.Removed {
		delete(m.statuses, u.UID)
		return nil
	}
	m.statuses[u.UID] = u
	return nil
}

func (m *memory) read(uid types.UID) (v1.PodStatus, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, ok := m.statuses[uid]
	return u.Status, ok
}

func (m *memory) before(uid types.UID) (status.Update, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, ok := m.statuses[uid]
	return u, ok
}

func newMemory() *memory { return &memory{statuses: make(map[types.UID]status.Update)} }

func TestRunSink_AGoodOnePasses(t *testing.T) {
	RunSink(t, func(*testing.T) SinkUnderTest {
		m := newMemory()
		return SinkUnderTest{Sink: m, Read: m.read}
	})
}

// Each way to break the contract is found, by these cases and no others.
func TestRunSink_BrokenOnesFail(t *testing.T) {
	for name, test := range map[string]struct {
		broken func(ctx context.Context, m *memory, u *status.Update) (done bool, err error)
		found  []string
	}{
		"stores nothing of the second one": {func(_ context.Context, m *memory, u *status.Update) (bool, error) {
			_, known := m.before(u.UID)
			return known && !u.Removed, nil
		}, []string{"AfterARestartVersionsBeginAnew", "APodThatComesAgainIsAnotherOne", "DifferentPodsAtOnce", "TheNewestIsStored"}},
		"knows better by the version": {func(_ context.Context, m *memory, u *status.Update) (bool, error) {
			before, _ := m.before(u.UID)
			return u.Version < before.Version, nil
		}, []string{"AfterARestartVersionsBeginAnew"}},
		"takes an end for the last word": {func(_ context.Context, m *memory, u *status.Update) (bool, error) {
			before, _ := m.before(u.UID)
			return before.Status.Phase == v1.PodFailed, nil
		}, []string{"APodThatComesAgainIsAnotherOne"}},
		"does not know the pod": {func(_ context.Context, m *memory, u *status.Update) (bool, error) {
			_, known := m.before(u.UID)
			return u.Removed && !known, errors.New("not found")
		}, []string{"ARemovalIsNoError"}},
		"the same is an error": {func(_ context.Context, m *memory, u *status.Update) (bool, error) {
			before, known := m.before(u.UID)
			return known && before.Version == u.Version, errors.New("conflict")
		}, []string{"TheSameTwiceIsNoError"}},
		"changes the pod": {func(_ context.Context, _ *memory, u *status.Update) (bool, error) {
			if u.Pod != nil {
				u.Pod.Status = u.Status
			}
			return false, nil
		}, []string{"ThePodIsOnlyRead"}},
		"says nil although it has given up": {func(ctx context.Context, _ *memory, _ *status.Update) (bool, error) {
			return ctx.Err() != nil, nil
		}, []string{"SendEndsWithItsContext"}},
		"one pod at a time": {func(_ context.Context, m *memory, u *status.Update) (bool, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.statuses) > 0 && m.statuses[u.UID].UID == "", errors.New("busy")
		}, []string{"DifferentPodsAtOnce"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, slices.Sorted(slices.Values(test.found)), faults(t, test.broken))
		})
	}
}

// A Send that ignores its context is found when the limit has passed.
func TestRunSink_OneThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		m := newMemory()
		m.broken = func(context.Context, *memory, *status.Update) (bool, error) { <-free; return true, nil }
		err := checkContextEnd(t.Context(), SinkUnderTest{Sink: m, Read: m.read})
		assert.EqualError(t, err, "Send has not returned 10s after its context had ended")
		close(free)
	})
}

// faults are the names of the cases that find something.
func faults(t *testing.T, broken func(context.Context, *memory, *status.Update) (bool, error)) []string {
	found := map[string]bool{}
	for _, c := range sinkCases {
		m := newMemory()
		m.broken = broken
		if c.check(t.Context(), SinkUnderTest{Sink: m, Read: m.read}) != nil {
			found[c.name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// What the errors of a Sink say is checked by these cases and no others.
func TestRunSink_TypedErrors(t *testing.T) {
	right := map[Trouble]error{
		Unreachable: status.Unavailable(errors.New("away"), 0), Busy: status.RetryAfter(errors.New("busy"), time.Second),
		Refuses: fmt.Errorf("%w: too long", status.ErrRefused), NotYet: fmt.Errorf("%w: no mirror pod", status.ErrNotYet),
	}
	for name, test := range map[string]struct {
		say   map[Trouble]error
		found []string
	}{
		"right":           {right, nil},
		"silent":          {map[Trouble]error{}, []string{"APodThatIsNotThereIsErrNotYet", "ARefusalIsErrRefused", "WhoIsBusyIsAskedAgain", "WhoIsUnreachableIsAskedAgain"}},
		"refuses always":  {map[Trouble]error{Unreachable: status.ErrRefused, Busy: status.ErrRefused, Refuses: status.ErrRefused, NotYet: status.ErrRefused}, []string{"APodThatIsNotThereIsErrNotYet", "WhoIsBusyIsAskedAgain", "WhoIsUnreachableIsAskedAgain"}},
		"never says what": {map[Trouble]error{Unreachable: errTest, Busy: errTest, Refuses: errTest, NotYet: errTest}, []string{"APodThatIsNotThereIsErrNotYet", "ARefusalIsErrRefused"}},
	} {
		t.Run(name, func(t *testing.T) {
			var found []string
			for _, c := range sinkCases {
				m, trouble := newMemory(), NoTrouble
				m.broken = func(context.Context, *memory, *status.Update) (bool, error) {
					return test.say[trouble] != nil, test.say[trouble]
				}
				set := func(to Trouble) bool { trouble = to; return true }
				if c.check(t.Context(), SinkUnderTest{Sink: m, Read: m.read, Trouble: set}) != nil {
					found = append(found, c.name)
				}
			}
			slices.Sort(found)
			assert.Equal(t, test.found, found)
		})
	}
}

var errTest = errors.New("something")
