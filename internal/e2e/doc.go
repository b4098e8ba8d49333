// Package e2e starts what tests of real containers need, and takes all of it
// away again: private containerds, a registry on the loopback interface, and
// the images in it.
//
// A containerd is private: it has its own root, state, socket, bridge and
// subnet, all beneath or named after one temporary directory, so any number of
// them run beside each other and beside the machine's own. Nothing of them
// survives the test: containers are stopped by the runtime itself, so that the
// network gives back what it took, and what that leaves is killed and
// unmounted.
//
// Both families are known by what they cannot do as well: 1.6 has no stream of
// events. A machine that lacks the programs, the rights or the kernel for them
// skips the test with a message that says what is missing; where CI is true,
// that is a failure.
//
// The registry serves two images made here out of the machine's static busybox.
// They are pulled as any other, which works without a network.
//
// # The tests
//
// go test ./internal/e2e has one pod come and go. With -e2e there is everything:
// stories, each of which is one thing that a pod may have, side by side on one
// containerd and one agent; and what needs an agent, or a containerd, of its own.
// What an agent says is held against what the runtime says to bare CRI calls. With
// -full too, numbers are not made smaller for the sake of time.
//
// TestRestart kills the agent, containerd, both and the machine amid changes (I34
// to I37). An agent that was started again has no status of before, as there is no
// API server that kept it: what has no probes is Ready in the first status, what
// has some is so after their first answer, and then without a break (CS-12, PR-5).
// A job runs once. It is excused if its very container has run again after
// containerd died in its start, or if the machine went off in that: the runtime has
// forgotten the start then, which TestForgotten shows without chance. An address that
// a plugin has taken after containerd killed it, as the agent had died that wanted the
// sandbox, is nobody's to give back (TestLease). A sandbox that nobody wants and that is
// not ended in time is the agent's fault, unless bare calls with no agent alive do not
// end it either: shims hang, and a container whose start was cut off may be over for
// CRI and not for containerd. Then its shim is killed and containerd started again, once
// (TestOwed), and everything has to be as it ought to be after all.
package e2e
