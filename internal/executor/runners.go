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
	r.mu.pending.push(f)
	start, wake := r.startLocked()
	r.mu.Unlock()
	r.wakeOrStart(start, wake)
}

// Close ends the parked goroutines. The others end when they find no pending function. It
// does not wait for them.
func (r *Runners) Close() {
	r.mu.Lock()
	r.mu.closed = true
	parked := r.unparkLocked(len(r.mu.parked))
	r.mu.Unlock()
	endParked(parked)
}

// startLocked decides which goroutine takes the next pending function. start is false if none
// is pending, or if a goroutine that will take it is starting already. Otherwise wake wakes a
// parked goroutine; a nil wake stands for a new one.
func (r *Runners) startLocked() (start bool, wake chan struct{}) {
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

// wakeOrStart wakes or starts the goroutine that startLocked has chosen.
func (r *Runners) wakeOrStart(start bool, wake chan struct{}) {
	switch {
	case start && wake != nil:
		wake <- struct{}{} // It does not block: the channel of a parked goroutine is empty.
	case start:
		r.executor.Go(r.runPending)
	}
}

// runPending is the body of a goroutine. It runs pending functions until there are none, and parks.
func (r *Runners) runPending() {
	wake := make(chan struct{}, 1)
	for {
		for f := r.nextFunction(true); f != nil; f = r.nextFunction(false) {
			f()
		}
		if !r.park(wake) {
			return
		}
		if _, ok := <-wake; !ok {
			return
		}
	}
}

// nextFunction returns the next pending function, nil if there is none. started is true for the first
// call of a goroutine after startLocked has chosen it.
func (r *Runners) nextFunction(started bool) func() {
	r.mu.Lock()
	if started {
		r.mu.starting = false
	}
	f := r.mu.pending.pop()
	start, wake := r.startLocked()
	r.mu.Unlock()
	r.wakeOrStart(start, wake)
	return f
}

// park adds the goroutine that waits for wake to the parked ones. It returns false if the
// goroutine must end instead. A call of Go after the last take has started or woken another
// goroutine for its function, so park does not look for a pending function.
func (r *Runners) park(wake chan struct{}) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed || len(r.mu.parked) >= r.maxParked {
		return false
	}
	r.mu.parked = append(r.mu.parked, wake)
	if r.mu.timer == nil {
		r.mu.timer = time.AfterFunc(parkTime, r.endUnused)
	}
	return true
}

// endUnused ends the goroutines that stayed parked since the timer was started, and starts
// the timer again for the others.
func (r *Runners) endUnused() {
	r.mu.Lock()
	unused := r.unparkLocked(r.mu.unused)
	r.mu.unused = len(r.mu.parked)
	if r.mu.timer != nil {
		r.mu.timer.Reset(parkTime)
	}
	r.mu.Unlock()
	endParked(unused)
}

// unparkLocked removes the first n parked goroutines and returns their wake channels. If no parked goroutine is
// left, it stops the timer that ends unused goroutines.
func (r *Runners) unparkLocked(n int) []chan struct{} {
	removed := append([]chan struct{}(nil), r.mu.parked[:n]...)
	left := copy(r.mu.parked, r.mu.parked[n:])
	clear(r.mu.parked[left:])
	r.mu.parked = r.mu.parked[:left]
	r.mu.unused = max(0, r.mu.unused-n) // endUnused can run after Close: Stop does not wait for it.
	if left == 0 && r.mu.timer != nil {
		r.mu.timer.Stop()
		r.mu.timer = nil
	}
	return removed
}

// endParked ends the parked goroutines by closing their wake channels.
func endParked(parked []chan struct{}) {
	for _, wake := range parked {
		close(wake)
	}
}

// fifo is a queue of functions.
type fifo struct {
	functions []func()
	first     int // the index of the oldest one
}

// len returns the number of functions.
func (q *fifo) len() int { return len(q.functions) - q.first }

// push adds the newest function. A queue that never gets empty moves its functions to the
// front when half of its memory is unused, so that its memory follows its length.
func (q *fifo) push(f func()) {
	if len(q.functions) == cap(q.functions) && q.first > len(q.functions)/2 {
		n := copy(q.functions, q.functions[q.first:])
		clear(q.functions[n:])
		q.functions, q.first = q.functions[:n], 0
	}
	q.functions = append(q.functions, f)
}

// pop removes the oldest function, and returns nil if the queue is empty.
func (q *fifo) pop() func() {
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
