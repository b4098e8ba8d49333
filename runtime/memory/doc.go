// Package memory is an in-memory runtime.Runtime for tests, examples and simulations. Its
// containers run no programs: they follow scripts on an injected clock. It keeps every promise of
// package runtime; runtimetest checks that.
//
// # State is computed
//
// A container has a start time. Its run defines how long it runs and its exit code. Its state
// follows from these and the clock. There is no timer and no goroutine per container.
//
//	             StartContainer          for is over, TERM, kill
//	created ──────── start ──► running ──────── exit ─────► exited
//	   └── a kill during the start delay, fail=start ──────────┘
//
// # Scripts
//
// A script defines how each start of a container behaves: start k uses run k, and the last run
// repeats. It comes from SetScript or from the annotation memory.podkeel.dev/<container>:
//
//	memory.podkeel.dev/web: "fail=image; run=10s exit=1; run=forever ignore-term"
//	memory.podkeel.dev/job: 'print=working run=10s exit=137 reason=OOMKilled message="used 2 GiB"'
//
//	run=10s, run=forever                    how long it runs
//	exit=1                                  its exit code if it exits by itself
//	start-delay=5s                          how long its start takes
//	ignore-term                             only a kill stops it early
//	fail=image, fail=create, fail=start     the step that fails before it runs
//	print=hello, print@5s="two words"       lines of its log, at the start or that long after it
//	message="out of memory"                 its termination message if it exits by itself
//	memory=64Mi, memory@5s=1Gi              its memory, and its memory that long after its start;
//	                                        above its limit it is then killed as OOMKilled
//	reason=OOMKilled                        the reason then, instead of Completed or Error
//
// Without a script the command decides. The runtime understands true, false, echo, sleep N, and a
// shell with a sequence of these, exit N, trap "" TERM and trap 'exit 143' TERM. Any other command
// runs until it is stopped. A container exits with 143 after TERM and with 137 after a kill. A stop
// with a grace period of zero sends no TERM.
//
// # Probes and hooks
//
// Probes and hooks of every kind succeed at once by default. SetAnswers or an annotation changes
// that, for periods since the start of the container. The name of the annotation ends in liveness,
// readiness, startup, post-start or pre-stop:
//
//	memory.podkeel.dev/web.startup: "fail for=5s; ok"
//	memory.podkeel.dev/web.liveness: 'ok for=1m; fail takes=2s message="too slow"'
//
//	ok, fail, hang              the result; hang never returns
//	for=5s                      length of the period, before the next answer; without it for ever
//	takes=2s                    how long each call takes
//	message="too slow"          the output
//
// If a container exits during a call, the call returns ErrWrongState. HandlerCalls counts the
// calls.
//
// # Other features
//
// Exec and ExecStream have the programs cat, echo, env, false, ls, sleep, test, true, stty size,
// tar as kubectl cp runs it, and sh with a sequence of these, joined by ; && or ||, also line by
// line and on a terminal. Any other command exits at once with 0. SetCommand adds programs in Go.
// Each container has its own files. Their size is bounded, and they are removed with its record.
//
// A log has the lines that the run prints, or one line that describes the run. It also has the
// output of the command for clients that attached with stdin. UpdateContainer stores the resources
// for Resources to return. PodStats computes its figures from the time. A forwarded port echoes
// what it receives.
//
// New returns the view of one client. WithClock returns further views; each waits on the clock of
// its own process. A simulated process can crash at any call: before it, or after it, when the
// effect has happened and the reply is lost.
//
//   - When the context of a StopContainer ends or its caller crashes, a container that ignores TERM runs
//     on until the next StopContainer, as with containerd. The grace period then begins again.
//   - A start delay continues when its caller gives up or crashes.
//   - A kill during a start delay cancels the start: the container exits with 137 and never ran.
//   - Images are absent until pulled, and pulls take no time.
//   - While the runtime is not ready, calls have no effect.
//   - IDs and addresses follow from the pod's UID and history, not from the order of pods.
//   - The runs that a UID has used are counted beyond the removal of its records, for the last ten
//     thousand UIDs at least.
package memory
