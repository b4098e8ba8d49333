// Package internal contains packages that the packages of this module share and that no importer
// needs. It has no code of its own. This page describes the checks and defines the words that this
// module coins.
//
// # The checks
//
// .ci/run runs every check on a fresh Linux machine: format, vet, go mod tidy, tests, the
// race detector, pods on real containers and crashes under them, builds for other systems,
// the newest k8s.io release, fuzzing, one round of each benchmark, and the examples. It
// installs missing programs and lists the skipped steps at the end. ".ci/run race fuzz" runs
// these two steps only. internal/lint holds the layers and the style as Go tests;
// internal/e2e runs pods on private containerds.
//
// # Glossary
//
// Kubernetes and CRI terms mean here what they mean there. These words are ours:
//
//	executor           the interface through which packages with goroutines read the time, wait and fork; it has a production
//	                   half (goroutines) and a simulated half (coroutines on one thread)
//	simulation         a whole node on the simulated half of the executor
//	harness            the type through which a test drives the code under test
//	incarnation        one of several successive pods of one UID; stamped on its sandboxes and containers
//	status epoch       a number by which the status store separates the statuses of successive incarnations
//	worker run         one goroutine of podworkers for one pod, from its first call to its last
//	sticky flag        a fact that stays true for one incarnation: started, deleted, evicted
//	passive            a passive package has no goroutine; it may have a mutex and a clock
//	pure               a pure package has no goroutine, lock, clock, randomness or IO
//	sole importer      the one package that may import a heavy dependency
//	story              a test as text in testdata: commands, and the transcript that they must produce
//	snapshot           the full list of pods of a source at one moment
//	complete           a source is complete if it could read all of its pods
//	terminal statuses  the statuses of ended pods that a checkpoint keeps for the next agent
//	pod hash           a hash of the pod; it differs if another pod replaced it under the same UID
//	feature            an optional role of a runtime, such as exec, in its runtime.Features
//	name queue         the static pods that wait for one full name, in order of arrival
//
// RULES.md files and names of tests have ids: letters and a number. Most stand for
// behaviour of the kubelet, I for invariants, F for faults. The RULES.md of a package says
// what its ids mean.
package internal
