// Package executor is the one seam through which Podkeel's shells read the time, wait and
// fork. It has two halves with the same behaviour.
//
// The production half uses goroutines, channels and the injected clock. The simulated half
// uses coroutines on one thread, a heap of timers, and a seed that decides every choice
// that the real world leaves to chance. Over chooses the half by the clock that it is
// given, so a program that configures a node passes a clock and never sees the executor.
//
// A lifecycle bug is an interleaving: this reply after that kill, a crash between two
// calls. In a simulation an interleaving can be repeated: the same program with the same
// seed takes the same steps, a crash can be placed at each of them, and hours of backoff
// take no time. All of it is production code; only its waits are simulated.
//
// # Rules for shells
//
//   - Wait by Sleep, Event, Latch and Group.Wait; fork by Go, Group and Each; bound a call
//     by WithDeadline; derive contexts by WithCancel, NewContext or an embedded Context.
//   - A wait that returns an error ends the loop that waits: the context has ended, or the
//     process has crashed.
//   - Hold no lock while waiting, or while calling something that may wait.
//   - An Event is a hint with one waiter. Keep the state beside it, under a lock of its
//     own, and read it again after every wait.
//   - Callbacks of a Context run in the goroutine that cancels. They signal and do not
//     wait.
//   - Compare times so that "due" means not after now. A strict comparison spins in virtual
//     time.
//
// # What breaks a simulation
//
// Anything that happens outside its one thread, and any chance that does not follow the seed:
//
//   - a go statement, a channel operation, a sync.Cond or WaitGroup: the first races with
//     the thread, the others stop it;
//   - a clock's channels: the simulated clock panics when asked for one; code outside this
//     module uses podworkers.Wait;
//   - a timer of the standard library: context.WithTimeout, time.AfterFunc;
//   - a lock that is held over a wait;
//   - map iteration whose order reaches a call, a signal or the trace;
//   - randomness other than the injected jitter; Scheduler.Float64 serves;
//   - context.AfterFunc, and context.WithCancel over context.WithValue over a Context: the
//     standard library starts a goroutine for both.
//
// With Guard, a step that stops the thread is reported with its stack. With LetDriverWait,
// a wait of the driver runs the simulation until the wait is over. Other contexts of the
// standard library work as long as the driver or a coroutine cancels them.
//
// # Crashes
//
// Process.Crash cuts the power of one program. Every wait of its coroutines returns
// ErrCrashed, now and later; nothing can be forked any more; the coroutines run to their
// ends, the youngest first, and are gone when Crash returns. What they do without waiting
// still happens, as does the work of a call that was sent: a fake that wants to be crashed
// within a call yields before and after its effect. A coroutine that has not begun
// never begins. Objects outside the process, such as an in-memory runtime, survive.
package executor
