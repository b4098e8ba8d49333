package executor

import (
	"runtime"
	"sync"
	"time"
)

const (
	// parkedPerCore is how many goroutines Runners parks for each core. It bounds memory and not
	// concurrency: Go starts a goroutine if none is parked.
	parkedPerCore = 4
	// parkTime is the shortest time for which a goroutine stays parked without a function to run.
	// The longest is twice that.
	parkTime = time.Second
)

// Runners runs functions as Executor.Go does, but reuses its goroutines. A new goroutine has a
// small stack, and the Go runtime copies the stack whenever it grows. For a function that runs
// often and briefly these copies cost more than the function.
//
// The number of functions that run at once has no limit: a goroutine that takes a function first
// makes sure that another goroutine takes the next one.
//
// In a simulation Go is Executor.Go, and nothing is parked.
type Runners struct {
	executor  Executor
	maxParked int // 0 in a simulation

	mu struct {
		sync.Mutex
		pending  fifo            // functions that no goroutine has taken
		starting bool            // a goroutine has been started or woken and has yet to take a function
		parked   []chan struct{} // wakes each parked goroutine; the last one was parked last
		unused   int             // parked[:unused] were parked before the timer started, and not used since
		timer    *time.Timer     // runs while a goroutine is parked, and at most parkTime longer. It uses real time also beside a fake clock
		closed   bool
	}
}

// NewRunners returns Runners. It starts no goroutine. Close ends the parked ones.
func NewRunners(exec Executor) *Runners {
	r := &Runners{executor: exec}
	if _, ok := exec.(realExecutor); ok {
		r.maxParked = parkedPerCore * runtime.GOMAXPROCS(0)
	}
	return r
}

// Go runs f concurrently with the caller, as Executor.Go does. It never waits for another
// function. After Close it still runs f.
func (r *Runners) Go(f func()) {
	if r.maxParked == 0 {
		r.executor.Go(f)
		return
	}
	r.mu.Lock()
	r.mu.pending.appendAndCompactIfNeeded(f)
	start, wake := r.recordStartIfNeededLocked()
	r.mu.Unlock()
	r.wakeOrStart(start, wake)
}

// Close ends the parked goroutines. The others end when they find no pending function. It
// does not wait for them.
func (r *Runners) Close() {
	r.mu.Lock()
	r.mu.closed = true
	parked := r.removeFirstParkedLocked(len(r.mu.parked))
	r.mu.Unlock()
	closeWakeChannels(parked)
}

// recordStartIfNeededLocked decides whether a goroutine must be started or woken to run a pending function. It
// returns false if no function is pending, or if a starting goroutine will run it. In any other case it records
// a start and returns true, and the caller must call wakeOrStart. It then also removes a parked goroutine and
// returns that goroutine's wake channel. The channel is nil if none is parked, so that a new goroutine is
// needed.
func (r *Runners) recordStartIfNeededLocked() (start bool, wake chan struct{}) {
	if r.mu.starting || r.mu.pending.len() == 0 {
		return false, nil
	}
	r.mu.starting = true
	last := len(r.mu.parked) - 1
	if last < 0 {
		return true, nil
	}
	wake = r.mu.parked[last]
	r.mu.parked[last] = nil
	r.mu.parked = r.mu.parked[:last]
	r.mu.unused = min(r.mu.unused, last)
	return true, wake
}

// wakeOrStart does nothing if start is false. Else it wakes the parked goroutine that waits for wake, or starts
// a new goroutine if wake is nil.
func (r *Runners) wakeOrStart(start bool, wake chan struct{}) {
	switch {
	case start && wake != nil:
		wake <- struct{}{} // It does not block: the channel of a parked goroutine is empty.
	case start:
		r.executor.Go(r.runPendingAndPark)
	}
}

// runPendingAndPark is the body of a goroutine. It runs the pending functions, parks until another goroutine
// wakes it, and repeats this. It returns if addParked does not let it park, or if its wake channel is closed.
func (r *Runners) runPendingAndPark() {
	wake := make(chan struct{}, 1)
	for {
		for f := r.popFunctionAndStartNext(true); f != nil; f = r.popFunctionAndStartNext(false) {
			f()
		}
		if !r.addParked(wake) {
			return
		}
		if _, ok := <-wake; !ok {
			return
		}
	}
}

// popFunctionAndStartNext removes and returns the oldest pending function, or nil if there is none. It wakes or
// starts another goroutine if more functions are pending. started must be true for a goroutine that was just
// woken or started.
func (r *Runners) popFunctionAndStartNext(started bool) func() {
	r.mu.Lock()
	if started {
		r.mu.starting = false
	}
	f := r.mu.pending.removeOldestOrNil()
	start, wake := r.recordStartIfNeededLocked()
	r.mu.Unlock()
	r.wakeOrStart(start, wake)
	return f
}

// addParked adds wake, the channel of the calling goroutine, to the parked ones. It starts the timer for
// endUnusedAndResetTimer if needed. It returns false if the goroutine must return instead, because r is closed
// or enough goroutines are parked.
func (r *Runners) addParked(wake chan struct{}) (parked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed || len(r.mu.parked) >= r.maxParked {
		return false
	}
	r.mu.parked = append(r.mu.parked, wake)
	if r.mu.timer == nil {
		r.mu.timer = time.AfterFunc(parkTime, r.endUnusedAndResetTimer)
	}
	return true
}

// endUnusedAndResetTimer is called by a timer. It lets the goroutines return that stayed parked since its last
// call, and sets the timer again if others are parked.
func (r *Runners) endUnusedAndResetTimer() {
	r.mu.Lock()
	unused := r.removeFirstParkedLocked(r.mu.unused)
	r.mu.unused = len(r.mu.parked)
	if r.mu.timer != nil {
		r.mu.timer.Reset(parkTime)
	}
	r.mu.Unlock()
	closeWakeChannels(unused)
}

// removeFirstParkedLocked removes the n goroutines that were parked first and returns their wake channels. If no
// parked goroutine is left, it stops the timer that calls endUnusedAndResetTimer.
func (r *Runners) removeFirstParkedLocked(n int) []chan struct{} {
	removed := append([]chan struct{}(nil), r.mu.parked[:n]...)
	left := copy(r.mu.parked, r.mu.parked[n:])
	clear(r.mu.parked[left:])
	r.mu.parked = r.mu.parked[:left]
	r.mu.unused = max(0, r.mu.unused-n) // endUnusedAndResetTimer can run after Close: Stop does not wait for it.
	if left == 0 && r.mu.timer != nil {
		r.mu.timer.Stop()
		r.mu.timer = nil
	}
	return removed
}

// closeWakeChannels closes the wake channels of parked goroutines, which then return.
func closeWakeChannels(channels []chan struct{}) {
	for _, wake := range channels {
		close(wake)
	}
}

// fifo is a queue of functions.
type fifo struct {
	functions []func()
	first     int // the index of the oldest one
}

// len returns the number of functions in the queue.
func (q *fifo) len() int { return len(q.functions) - q.first }

// appendAndCompactIfNeeded appends a function to the queue. If more than half of a full buffer is unused, it
// first moves the functions to the front, so that a queue that is never empty does not grow.
func (q *fifo) appendAndCompactIfNeeded(f func()) {
	if len(q.functions) == cap(q.functions) && q.first > len(q.functions)/2 {
		n := copy(q.functions, q.functions[q.first:])
		clear(q.functions[n:])
		q.functions, q.first = q.functions[:n], 0
	}
	q.functions = append(q.functions, f)
}

// removeOldestOrNil removes and returns the oldest function. It returns nil if the queue is empty.
func (q *fifo) removeOldestOrNil() func() {
	if q.len() == 0 {
		return nil
	}
	f := q.functions[q.first]
	q.functions[q.first] = nil
	if q.first++; q.len() == 0 {
		q.functions, q.first = q.functions[:0], 0
		if cap(q.functions) > maxKeptCapacity {
			q.functions = nil
		}
	}
	return f
}

// maxKeptCapacity limits the memory that an empty fifo keeps.
const maxKeptCapacity = 1024
