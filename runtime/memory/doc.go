// Package memory is an in-memory runtime.Runtime for tests, examples and simulations. Its
// containers run nothing: they follow scripts on an injected clock. It keeps every promise
// of package runtime; runtimetest checks that.
//
// # State is computed
//
// A container has a start time, and its run says how long it goes on and with which code it
// ends. Its state follows from these and the clock; there is no timer and no goroutine per
// container.
//
//	             StartContainer          for is over, TERM, kill
//	created ──────── start ──► running ──────── end ──────► exited
//	   └── a kill during the start delay, fail=start ──────────┘
//
// # Scripts
//
// A script says how each start of a container goes: the k-th start uses the k-th run, and
// the last run repeats. It comes from SetScript or from the annotation
// memory.podkeel.dev/<container>:
//
//	memory.podkeel.dev/web: "fail=image; run=10s exit=1; run=forever ignore-term"
//	memory.podkeel.dev/job: 'print=working run=10s exit=137 reason=OOMKilled message="used 2 GiB"'
//
//	run=10s, run=forever                    how long it runs
//	exit=1                                  the code with which it ends by itself
//	start-delay=5s                          how long its start takes
//	ignore-term                             only a kill ends it early
//	fail=image, fail=create, fail=start     what fails before it runs
//	print=hello, print@5s="two words"       lines of its log, at the start or that long after it
//	message="out of memory"                 its termination message when it ends by itself
//	reason=OOMKilled                        the reason then, instead of Completed or Error
//
// Without a script the command decides: true, false, echo, sleep N, and a shell with these,
// exit N, trap "" TERM and trap 'exit 143' TERM in a row. Any other command runs until it is
// stopped. A container ends with 143 on TERM and with 137 when it is killed; with a grace
// period of zero there is no TERM.
//
// # Probes and hooks
//
// Probes and hooks of every kind succeed at once, or do what SetAnswers or an annotation
// says for the time since the container started. The annotation's name ends in liveness,
// readiness, startup, post-start or pre-stop:
//
//	memory.podkeel.dev/web.startup: "fail for=5s; ok"
//	memory.podkeel.dev/web.liveness: 'ok for=1m; fail takes=2s message="too slow"'
//
//	ok, fail, hang              the outcome; hang never answers
//	for=5s                      for how long, then the next; without it for ever
//	takes=2s                    how long each answer takes
//	message="too slow"          the output
//
// A container that ends while it is asked has not answered: ErrWrongState. Asked counts the
// calls.
//
// # Other features
//
// Exec and ExecStream know cat, echo, env, false, ls, sleep, test, true, stty size, tar as
// kubectl cp runs it, and sh with these in a row, joined by ; && or ||, also line by line and
// on a terminal; any other command ends at once with 0. SetCommand gives programs of your own.
// Files are of one container, are bounded, and vanish with its record.
//
// A log holds what the run prints, or one line that describes it, and what the command said
// to those who attached to it with input. UpdateContainer stores the resources, for Resources
// to show. PodStats are computed from the time. A port sends back what it gets.
//
// New returns the view of one client; On makes further views, each waiting on the clock of
// its own process. A simulated process can crash at any call: before it, or after it with
// the effect done and the reply lost.
//
//   - A StopContainer or a start delay continues when its caller gives up.
//   - A kill during a start delay ends the start: the container has exited with 137 and
//     never ran.
//   - Images are absent until pulled, and pulls take no time.
//   - While the runtime is not ready, calls have no effect.
//   - IDs and addresses follow from the pod's UID and history, not from the order of pods.
//   - The runs that a UID has used are remembered beyond its records, for the last ten
//     thousand UIDs at least.
package memory
