//go:build peer

package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// timer adds up times and allocations. The zero value measures processor time.
type timer struct {
	// clock returns the time. Nil is processorTime.
	clock func() time.Duration

	began, took     time.Duration
	mallocs, allocs uint64
}

// start begins a measurement.
func (t *timer) start() {
	if t.clock == nil {
		t.clock = processorTime
	}
	t.mallocs = countAllocations()
	t.began = t.clock()
}

// stop ends a measurement.
func (t *timer) stop() {
	t.took += t.clock() - t.began
	t.allocs += countAllocations() - t.mallocs
}

// figurePerOperation returns the figure of one of n operations.
func (t *timer) figurePerOperation(n int) figure {
	return figure{float64(t.took) / float64(n), float64(t.allocs) / float64(n)}
}

// measureProcessorTime measures the processor time of a function that does n operations.
func measureProcessorTime(n int, f func()) figure { return measureWithClock(n, processorTime, f) }

// measureElapsedTime measures the time that passes while a function does n operations.
func measureElapsedTime(n int, f func()) figure {
	began := time.Now()
	return measureWithClock(n, func() time.Duration { return time.Since(began) }, f)
}

// measureWithClock measures a function that does n operations with a clock.
func measureWithClock(n int, clock func() time.Duration, f func()) figure {
	runtime.GC()
	t := timer{clock: clock}
	t.start()
	f()
	t.stop()
	return t.figurePerOperation(n)
}

// processorTime returns the processor time of the process, in user mode and in the kernel. Other processes change it less
// than they change the elapsed time.
func processorTime() time.Duration {
	var u syscall.Rusage
	exitOnError(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// countAllocations returns the number of allocations of the process.
func countAllocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// readMemoryUse returns the bytes of the heap and of all stacks.
func readMemoryUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// awaitIdle waits until the number of goroutines has not changed for 200 ms, and returns it. It waits at most 5 s.
func awaitIdle() int {
	const steps, stable = 100, 4
	last, same := runtime.NumGoroutine(), 0
	for range steps {
		time.Sleep(50 * time.Millisecond)
		n := runtime.NumGoroutine()
		if same++; n != last {
			last, same = n, 0
		}
		if same == stable {
			break
		}
	}
	return last
}

// exitOnError exits if there is an error. A comparison of unequal work would be worthless.
func exitOnError(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// exitUnlessEqual exits if a driver has not done what the row measures.
func exitUnlessEqual[T comparable](what string, got, want T) {
	if got != want {
		exitOnError(fmt.Errorf("%s: got %v, want %v", what, got, want))
	}
}
