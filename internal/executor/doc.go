// Package executor is the only way in which Podkeel's shells read the time, wait and start goroutines.
// It has a production implementation and a simulation.
//
// A shell is a package that has goroutines, locks or clocks, unlike the pure packages, which decide. The
// production implementation uses goroutines, channels and the injected clock. The simulation uses
// coroutines on one thread, a heap of timers, and a seed that decides every choice that the Go
// scheduler would make. Over selects the implementation by the clock that it is given. So a program
// that configures a node passes a clock and never sees the executor. Code that has only a context gets
// the executor by From, after Into has stored it. Without Into, From returns the production
// implementation, also in a simulation.
//
// A lifecycle bug is an interleaving: one reply after a certain kill, a crash between two calls. In
// a simulation an interleaving can be repeated: the same program with the same seed takes the same
// steps, a crash can be placed at each of them, and hours of backoff take no time. All simulated
// code is production code; only its waits are simulated. A Process is one simulated program.
//
// # Rules for shells
//
//   - Wait by Sleep, Event, Latch and Group.Wait. Start goroutines by Go, Group, Each and Runners,
//     which reuses its goroutines. Limit a call by WithDeadline. Derive contexts by WithCancel,
//     NewContext or an embedded Context.
//   - If a wait returns an error, the loop that waits returns: the context has ended, or the
//     process has crashed.
//   - Hold no lock while you wait, or while you call code that may wait.
//   - An Event has one waiter and at most one pending signal. Keep the changed state beside it, under
//     a lock of its own, and read that state again after every wait.
//   - Callbacks of a Context run in the goroutine that cancels it. They may signal but not wait.
//   - Code that recovers panics calls ReraiseFault first. A Fault is an error of the test.
//   - For calls in parallel, WithBranches makes a context for each. Its Branch tells a test that
//     records calls which of them were made in parallel. It has no effect on the calls.
//   - Compare times so that "due" means not after now. With a strict comparison a loop never
//     ends in virtual time.
//
// # Where the implementations differ
//
// Only in a simulation: a Sleep of zero or less lets other coroutines run, a second waiter of one
// Event panics, and Signal may be called only by a coroutine or the driver. The driver is the goroutine
// that steps the simulation. It may not wait, unless LetDriverWait lets its wait run the simulation.
//
// # What breaks a simulation
//
// Everything that happens outside its one thread, and every random choice that does not follow the
// seed. With Guard, a step that blocks the thread is reported with its stack.
//
//   - A go statement races with the thread. A channel operation, a sync.Cond or a WaitGroup may
//     block it.
//   - A clock's channels: the simulated clock panics when one is requested. Code outside this
//     module uses podworkers.Wait.
//   - A timer of the standard library: context.WithTimeout, time.AfterFunc.
//   - A lock that is held during a wait.
//   - Map iteration whose order reaches a call, a signal or the output of a test.
//   - Randomness other than the injected jitter. Use Scheduler.Float64.
//   - context.AfterFunc, and a context.WithCancel whose parent is a context.WithValue over a Context:
//     the standard library starts a goroutine for both. Other contexts of the standard library work
//     if the driver or a coroutine cancels them.
//
// # Crashes
//
// Process.Crash simulates a power failure of one program. Every wait of its coroutines returns
// ErrCrashed, now and later. Only a wait for an open Latch of another process that has not crashed
// returns nil. No coroutine can be started. The coroutines run until they return, the youngest first. If the
// driver calls Crash, they have returned when Crash returns. If a coroutine calls it, they return when
// that coroutine next waits or returns. Their effects between two waits still happen. A call that was
// already sent is still executed: a fake that can crash within a call yields before and after its
// effect. A coroutine that has not started never starts. Objects outside the process, such as an
// in-memory runtime, survive.
package executor
