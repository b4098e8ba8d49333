// Package memory is a runtime.Runtime that runs nothing: a machine in memory
// whose containers follow scripts on an injected clock. It is what the tests,
// the examples and a simulated node run on, and it keeps every promise that
// the package runtime asks of an implementer; runtimetest checks that.
//
// # State is computed
//
// A container is told when to start, and its run says how long it goes on and
// with which code it ends. Whether it is created, running or exited follows
// from that and from the clock; there is no timer per container and no
// goroutine at all. Waiting (for a grace to pass, a start delay, the next
// event) goes through the seam of the caller's clock.
//
//	             StartContainer          For is over, TERM, kill
//	created ──────── start ──► running ──────── end ──────► exited
//	   └── a kill during the start delay, fail=start ──────────┘
//
// # Scripts
//
// A script says how each start of a container goes: the k-th start uses its
// k-th run, the last run repeats. It is given in Go (SetScript), or in the
// annotation memory.podkeel.dev/<container> of the requests that make the
// container or its sandbox, the container's first. ParseScript lists the words:
//
//	memory.podkeel.dev/web: "fail=image; run=10s exit=1; run=forever ignore-term"
//	memory.podkeel.dev/job: 'print=working run=10s exit=137 reason=OOMKilled message="used 2 GiB"'
//
// Without a script the command decides: true, false, echo, sleep N, and a shell
// with these, exit N, trap ” TERM and trap 'exit 143' TERM in a row. Anything else runs until it is
// stopped. A container ends with 143 on TERM and with 137 when it is killed;
// with a grace of zero there is no TERM.
//
// # Answers
//
// Probes and hooks of every kind, an exec or a connection alike, are answered
// by the container: at once with yes, or as SetAnswers or an annotation says
// for the time since it started. ParseAnswers lists the words:
//
//	memory.podkeel.dev/web.liveness: "ok for=1m; fail message=overloaded"
//	memory.podkeel.dev/web.pre-stop: "ok takes=5s"
//
// The purposes are liveness, readiness, startup, post-start and pre-stop. A
// container that ends while it is asked has not answered: ErrWrongState.
//
// # The other features
//
// Exec does what its command says as far as that is plain, and else ends at
// once with 0; a command dies with its container. ExecStream does the same line by
// line; it reads nothing, and there are no terminals. A log has what the run
// prints, or one line that says how it runs; it is computed too, so it costs
// nothing and is as long as its script. UpdateContainer keeps what it is asked
// for, for Resources to show; PodStats are figures that follow from the time.
//
// # Clients come and go
//
// New returns the view of a client on the machine's clock. On makes further
// views, each waiting on the clock of its own process. A process in a simulation
// can crash at any call: before it, or after it with the effect done and the
// reply lost. What the machine runs goes on.
//
// # Choices where the promises leave one
//
//   - A StopContainer or a start delay whose caller gives up goes on.
//   - A kill during a start delay, as any stop, ends the start: the container
//     has exited with 137 and never ran.
//   - Images are absent until pulled, so that the way of a pod is the one it
//     takes on a fresh machine; pulls take no time.
//   - While the runtime is not ready, calls have no effect at all.
//   - IDs and addresses follow from the pod's own UID and history, so that two
//     runs that differ only in the order of pods show the same ones.
//   - What a UID has used up of its scripts is remembered beyond its records,
//     but not for ever: of the last ten thousand UIDs at least.
package memory
