package executor_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/executor"
)

func TestContext_FirstCancelWins(t *testing.T) {
	c := executor.NewContext(context.Background())
	assert.NoError(t, c.Err())
	select {
	case <-c.Done():
		t.Fatal("not yet")
	default:
	}
	c.Cancel(context.DeadlineExceeded)
	c.Cancel(context.Canceled)
	<-c.Done()
	assert.Equal(t, context.DeadlineExceeded, c.Err())
	assert.Equal(t, context.DeadlineExceeded, context.Cause(c))

	c = executor.NewContext(context.Background())
	c.Cancel(nil)
	c.Cancel(nil)
	assert.Equal(t, context.Canceled, c.Err())
}

func TestContext_OfAnEndedParent(t *testing.T) {
	ours := executor.NewContext(context.Background())
	ours.Cancel(context.DeadlineExceeded)
	standard, cancel := context.WithCancel(context.Background())
	cancel()
	for parent, want := range map[context.Context]error{ours: context.DeadlineExceeded, standard: context.Canceled} {
		c := executor.NewContext(parent)
		assert.Equal(t, want, c.Err())
		<-c.Done()
	}
}

// A simulation depends on the order, so it must be the order of arrival and not the order of a map.
func TestContext_CallbacksRunInOrderOfArrival(t *testing.T) {
	c := executor.NewContext(context.Background())
	var got, want []int
	var stops []func() bool
	for i := range 100 {
		stops = append(stops, c.AfterFunc(func() { got = append(got, i) }))
		if i%3 != 0 {
			want = append(want, i)
		}
	}
	for i := 0; i < 100; i += 3 {
		assert.True(t, stops[i]())
		assert.False(t, stops[i](), "it has left already")
	}
	c.Cancel(context.Canceled)
	assert.Equal(t, want, got)
	assert.False(t, stops[1](), "it has run")
	assert.Zero(t, c.Callbacks())
}

func TestContext_ACallbackCanWithdrawAnother(t *testing.T) {
	c := executor.NewContext(context.Background())
	var stop func() bool
	c.AfterFunc(func() { assert.True(t, stop()) })
	stop = c.AfterFunc(func() { t.Error("was withdrawn") })
	c.Cancel(context.Canceled)
}

func TestContext_ChildrenEndInTheSameCallAndLeaveTheirParent(t *testing.T) {
	parent := executor.NewContext(context.Background())
	a, b := executor.NewContext(parent), executor.NewContext(parent)
	c := executor.NewContext(context.WithValue(b, contextTestKey{}, 1))
	assert.Equal(t, 2, parent.Callbacks())
	a.Cancel(context.Canceled)
	assert.Equal(t, 1, parent.Callbacks())
	parent.Cancel(context.DeadlineExceeded)
	assert.Equal(t, context.Canceled, a.Err())
	assert.Equal(t, context.DeadlineExceeded, b.Err())
	assert.Equal(t, context.DeadlineExceeded, c.Err())
	assert.Zero(t, parent.Callbacks()+b.Callbacks())
}

type contextTestKey struct{}

// An embedded context is still recognised, and may add a value of its own.
type embedding struct {
	executor.Context
	name string
}

func (e *embedding) Value(key any) any {
	if key == (contextTestKey{}) {
		return e.name
	}
	return e.Context.Value(key)
}

func TestContext_Embedded(t *testing.T) {
	parent := executor.NewContext(context.Background())
	e := &embedding{name: "a"}
	e.Init(parent)
	child := executor.NewContext(e)
	assert.Equal(t, "a", child.Value(contextTestKey{}))
	assert.Equal(t, "a", executor.Detach(child).Value(contextTestKey{}))
	parent.Cancel(context.Canceled)
	assert.Equal(t, context.Canceled, child.Err())
}

func TestContext_DetachedHasNoEnd(t *testing.T) {
	parent := executor.NewContext(context.Background())
	detached := executor.Detach(parent)
	child := executor.NewContext(detached)
	parent.Cancel(context.Canceled)
	assert.NoError(t, detached.Err())
	assert.NoError(t, child.Err())
	assert.Zero(t, parent.Callbacks())
}

// The standard library announces the end of its contexts in a goroutine. A child of this package
// does not wait for that.
func TestContext_NeverOutlivesAForeignParent(t *testing.T) {
	for range 100 {
		parent, cancel := context.WithCancel(context.Background())
		child := executor.NewContext(parent)
		grandchild := executor.NewContext(child)
		cancel()
		require.Equal(t, context.Canceled, grandchild.Err())
		<-grandchild.Done()

		parent, cancel = context.WithCancel(context.Background())
		child = executor.NewContext(parent)
		cancel()
		child.Cancel(context.DeadlineExceeded)
		require.Equal(t, context.Canceled, child.Err(), "the parent was first")
	}
}

func TestContext_StandardChildrenCostNoGoroutine(t *testing.T) {
	c := executor.NewContext(context.Background())
	before := runtime.NumGoroutine()
	var children []context.Context
	for range 100 {
		child, cancel := context.WithCancel(c)
		defer cancel()
		children = append(children, child)
	}
	// A goroutine for each child would be 100. Goroutines of earlier tests can come and go meanwhile.
	assert.Less(t, runtime.NumGoroutine(), before+50)
	assert.Equal(t, 100, c.Callbacks())
	c.Cancel(context.Canceled)
	for _, child := range children {
		assert.Equal(t, context.Canceled, child.Err(), "ended in the same call")
	}
}

// endsMeanwhile ends after the standard library has checked it and before the library registers its
// callback.
type endsMeanwhile struct{ *executor.Context }

func (e endsMeanwhile) AfterFunc(f func()) func() bool {
	e.Cancel(context.Canceled)
	return e.Context.AfterFunc(f)
}

// The standard library calls AfterFunc with a lock held that f takes.
func TestContext_EndsWhileTheStandardLibraryDerives(t *testing.T) {
	child, cancel := context.WithCancel(endsMeanwhile{executor.NewContext(context.Background())})
	defer cancel()
	<-child.Done()
	assert.Equal(t, context.Canceled, child.Err())
}

// For the race detector: all methods at once, with both kinds of parents.
func TestContext_Races(t *testing.T) {
	for i := range 200 {
		var parent context.Context
		var end func()
		if i%2 == 0 {
			parent, end = executor.WithCancel(context.Background())
		} else {
			parent, end = context.WithCancel(context.Background())
		}
		root := executor.NewContext(parent)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				child := executor.NewContext(root)
				standard, cancel := context.WithCancel(child)
				stop := child.AfterFunc(func() {})
				_, _ = child.Deadline()
				_ = child.Err()
				stop()
				<-standard.Done()
				cancel()
				<-child.Done()
				child.Cancel(context.Canceled)
			})
		}
		wg.Go(end)
		wg.Go(func() { root.Cancel(context.Canceled) })
		wg.Wait()
		require.Error(t, root.Err())
		require.Zero(t, root.Callbacks())
	}
}

func TestContext_OneAllocation(t *testing.T) {
	parent := executor.NewContext(context.Background())
	parent.Done()
	got := testing.AllocsPerRun(100, func() { executor.NewContext(parent).Cancel(context.Canceled) })
	assert.Equal(t, 1.0, got)
}

func TestContext_Deadline(t *testing.T) {
	outer, cancel := context.WithDeadline(context.Background(), time.Now().Add(time.Hour))
	defer cancel()
	_, ok := executor.NewContext(context.Background()).Deadline()
	assert.False(t, ok)
	want, _ := outer.Deadline()
	got, ok := executor.NewContext(outer).Deadline()
	assert.True(t, ok)
	assert.Equal(t, want, got)
}

func ExampleWithCancel() {
	ctx, cancel := executor.WithCancel(context.Background())
	fmt.Println(ctx.Err())
	cancel()
	fmt.Println(ctx.Err())
	// Output:
	// <nil>
	// context canceled
}

func ExampleNewContext() {
	parent := executor.NewContext(context.Background())
	child := executor.NewContext(parent)
	child.AfterFunc(func() { fmt.Println("child:", child.Err()) })
	parent.Cancel(context.DeadlineExceeded)
	// Output: child: context deadline exceeded
}
