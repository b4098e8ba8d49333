// Package executor is the only way in which Podkeel's shells read the time, wait and fork. It has
// two implementations with the same behaviour.
//
// The production implementation uses goroutines, channels and the injected clock. The simulation
// uses coroutines on one thread, a heap of timers, and a seed that decides every choice that the Go
// scheduler would make. Over selects the implementation by the clock that it is given. So a program
// that configures a node passes a clock and never sees the executor.
//
// A lifecycle bug is an interleaving: one reply after a certain kill, a crash between two calls. In
// a simulation an interleaving can be repeated: the same program with the same seed takes the same
// steps, a crash can be placed at each of them, and hours of backoff take no time. All simulated
// code is production code; only its waits are simulated.
//
// # Rules for shells
//
//   - Wait by Sleep, Event, Latch and Group.Wait. Fork by Go, Group and Each. Limit a call
//     by WithDeadline. Derive contexts by WithCancel, NewContext or an embedded Context.
//   - If a wait returns an error, the loop that waits returns: the context has ended, or the
//     process has crashed.
//   - Hold no lock while you wait, or while you call code that may wait.
//   - An Event has one waiter and carries no state. Keep the state beside it, under a lock of its
//     own, and read it again after every wait.
//   - Callbacks of a Context run in the goroutine that cancels. They may signal but not wait.
//   - Compare times so that "due" means not after now. With a strict comparison a loop never
//     ends in virtual time.
//
// # What breaks a simulation
//
// Everything that happens outside its one thread, and every random choice that does not follow the
// seed:
//
//   - A go statement, a channel operation, a sync.Cond or WaitGroup. The first races with the
//     thread, the others block it.
//   - A clock's channels: the simulated clock panics when one is requested. Code outside this
//     module uses podworkers.Wait.
//   - A timer of the standard library: context.WithTimeout, time.AfterFunc.
//   - A lock that is held during a wait.
//   - Map iteration whose order reaches a call, a signal or the trace.
//   - Randomness other than the injected jitter. Use Scheduler.Float64.
//   - context.AfterFunc, and context.WithCancel over context.WithValue over a Context: the
//     standard library starts a goroutine for both.
//
// With Guard, a step that blocks the thread is reported with its stack. With LetDriverWait, the
// driver, that is, the goroutine that steps the simulation, may wait too: its wait runs the
// simulation. Other contexts of the standard library work as long as the driver or a coroutine
// cancels them.
//
// # Crashes
//
// Process.Crash simulates a power failure of one program. Every wait of its coroutines returns
// ErrCrashed, now and later, and no coroutine can be started. The coroutines run until they return,
// the youngest first, and have ended when Crash returns. Their effects between two waits still
// happen. A call that was already sent is still executed: a fake that can crash within a call
// yields before and after its effect. A coroutine that has not started never starts. Objects
// outside the process, such as an in-memory runtime, survive.
package executor
