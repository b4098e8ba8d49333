// Package executor is the one seam through which Podkeel reads the time, waits and
// forks. It has two halves with one behaviour.
//
// The production half is goroutines, channels and the injected clock. The
// simulation is coroutines on one thread, a heap of timers, and a seed that takes
// every decision the real world would leave to chance. Over picks the half by
// the clock it is given, so whoever configures a node passes a clock and never
// sees the seam.
//
// # Why a seam
//
// A lifecycle bug is an interleaving: this reply after that kill, a crash
// between those two calls. With goroutines an interleaving happens or does
// not. In a simulation it has a number: the same program with the same seed takes
// the same steps, a crash can be placed at every one of them, and hours of
// back-off pass in the time it takes to run what happens in between. All of it
// is production code; only its waits are ours.
//
// # Rules for those who use it
//
// They hold outside this package and outside edges, which talk to the real
// harness and cannot be in a simulation anyway.
//
//   - Wait by Sleep, Event, Latch and Group.Wait; fork by Go, Group and Each;
//     bound a call by WithDeadline; derive contexts by WithCancel, NewContext
//     or an embedded Context.
//   - A wait that returns an error ends the loop that waits. There is no other
//     reaction: the context has ended, or the process has crashed.
//   - No lock is held while waiting, or while calling anything that may wait.
//   - An Event is a hint with one waiter. State stands beside it, under a lock
//     of its own, and is read again after every wait.
//   - Callbacks of a Context run in whoever cancels. They signal; they do not
//     wait.
//   - The time is compared so that "due" means not after now. Virtual time
//     does not move by itself, and a strict comparison would spin.
//
// # What breaks a simulation
//
// Whatever happens outside its one thread, or by a chance that is not the
// seed's:
//
//   - A go statement, a channel operation, a sync.Cond or WaitGroup: the first
//     races with the thread, the others stop it for ever.
//   - A clock's channels. The simulation's clock panics when asked for one. Code
//     outside this module waits by podworkers.Wait.
//   - A timer of the standard library: context.WithTimeout, time.AfterFunc.
//   - A lock held over a wait: the next one to want it stops the thread.
//   - Map iteration whose order reaches a call, a signal or the trace.
//   - Randomness other than the injected jitter; Scheduler.Float64 serves.
//   - context.AfterFunc, and a cancellable context derived by the standard
//     library from one of ours with values between (context.WithValue): both
//     are served by a goroutine.
//
// With Guard, a step that stops the thread is told of, with its stack. With
// LetDriverWait, a wait of the driver runs the simulation until it is over.
//
// Contexts of the standard library are otherwise at home in a simulation as long as
// it is the driver or a coroutine that cancels them: those derived from ours end
// in the call that ends ours, and a wait on a context of another make is ended
// by the scheduler, which looks at it before each step.
//
// # What a crash does
//
// Process.Crash is the power cut of one program. Every parked wait of its
// coroutines returns ErrCrashed, and so does every later one; nothing can be
// forked any more; the coroutines run to their ends, the youngest first, and
// are gone when Crash returns. What they do on the way out without waiting
// does happen, as does the work of a call that had been made: a fake that wants
// to be crashed in the middle of a call yields before and after its effect.
// A coroutine that had not had its first step never gets one. Objects outside
// the process, such as an in-memory runtime, survive, and another process can
// be started on them.
package executor
