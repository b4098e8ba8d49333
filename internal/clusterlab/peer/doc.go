// Program peer measures the packages of the kubelet and of Podkeel beside each other, and prints a table.
//
//	go run .                    # in this directory, 4 minutes and at first the time to compile
//	go run . -run PLEG          # some rows
//	go run . -check             # vet and the tests, for the gate
//
// One process has both implementations. They do the same work in turns: the same pods, the same in-memory runtime, the
// same API server. A test compares the calls of both, so that no figure compares unequal work.
//
// The directories are:
//
//	.         builds the comparison with an overlay, and runs it
//	compare   the driver interface, one driver for each implementation, the rows, and the test
//	kubelet   exports the pod workers of the kubelet, which are unexported there
//
// The pod workers are in package kubelet, which compiles most of Kubernetes and exports no constructor. The overlay adds
// the file of the pod workers and the file of their errors, from the module cache, to directory kubelet. So the compiler
// reads the released source, and no source of Kubernetes is in this repository. The version is in go.mod.
//
// It is a separate module, so that Podkeel does not depend on Kubernetes. Without the build tag peer, which the program
// sets, the directories compare and kubelet are empty. FIGURES.md has the result.
package main
