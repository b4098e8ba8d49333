// Package e2e runs pods as real containers. It starts private containerds, a registry on
// the loopback interface and the agent as a process of its own, and removes all of it
// again. README.md has the commands, what they need, and the figures.
//
// A containerd is private: its root, state, socket, bridge and subnet lie beneath or are named after one temporary
// directory, so any number of them run beside each other and beside the machine's own. Both families, 2.4 and 1.6, are
// tested; 1.6 has no stream of events. A machine that lacks the programs, the rights or the kernel for them skips a
// test with a message that names the missing part; if CI is true, the test fails instead. The registry serves two
// images made from the machine's static busybox, so no network is needed.
//
// # The tests
//
// go test ./internal/e2e runs one pod. With -e2e it runs everything. Each story shows one feature of a pod; the stories
// run side by side on one containerd and one agent. Other tests need an agent or a containerd of their own. The tests
// compare the agent's reports with the runtime's answers to bare CRI calls. With -full, numbers are not reduced to save
// time.
//
// TestUpgrade replaces the agent of an earlier commit, which testdata/upgrade-from names, by the
// agent of these sources, while a dozen pods of every source run.
//
// TestRestart kills the agent, containerd, both, and the machine while pods come, change
// and go. No pod runs twice or without being desired, and nothing unchanged is restarted. A
// restarted agent has no earlier status: a container without probes is Ready in the first
// status, one with probes after their first answer, and then without a break. A job runs
// once. These cases are excused, because the runtime causes them:
//
//   - Its container ran again after containerd died in its start, or the machine went off
//     in that: the runtime has forgotten the start, which TestForgotten shows without
//     chance.
//   - An address that a network plugin took for a sandbox whose agent had died is not given
//     back (TestLease).
//   - A sandbox that should end does not, and bare calls without an agent do not end it
//     either. Then its shim is killed and containerd started again, once (TestOwed), and
//     everything has to be in order after that.
package e2e
