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
	t.mallocs = mallocs()
	t.began = t.clock()
}

// stop ends a measurement.
func (t *timer) stop() {
	t.took += t.clock() - t.began
	t.allocs += mallocs() - t.mallocs
}

// per returns the figure of one of n operations.
func (t *timer) per(n int) figure {
	return figure{float64(t.took) / float64(n), float64(t.allocs) / float64(n)}
}

// spent measures the processor time of a function that does n operations.
func spent(n int, f func()) figure { return measured(n, processorTime, f) }

// elapsed measures the time that passes while a function does n operations.
func elapsed(n int, f func()) figure {
	began := time.Now()
	return measured(n, func() time.Duration { return time.Since(began) }, f)
}

// measured measures a function that does n operations with a clock.
func measured(n int, clock func() time.Duration, f func()) figure {
	runtime.GC()
	t := timer{clock: clock}
	t.start()
	f()
	t.stop()
	return t.per(n)
}

// processorTime returns the processor time of the process, in user mode and in the kernel. Other work of the machine
// changes it less than the time that passes.
func processorTime() time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// mallocs returns the number of allocations of the process.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// memory returns the bytes of the heap and of all stacks.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// awaitIdle waits until the number of goroutines has not changed for a while, at most 5 s, and returns it.
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

// check exits if there is an error. A comparison of unequal work would be worthless.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// checkEqual exits if a driver has not done what the row measures.
func checkEqual[T comparable](what string, got, want T) {
	if got != want {
		check(fmt.Errorf("%s: got %v, want %v", what, got, want))
	}
}
