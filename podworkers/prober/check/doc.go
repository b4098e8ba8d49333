// Package check performs the checks of exec, HTTP and TCP probes (experimental). Package grpccheck
// performs those of gRPC probes; it is separate because it links gRPC, and a Checker takes it as an
// option.
//
// A check that could not be made is an error: an unknown port, a pod without an address, a
// runtime that fails. A server that does not answer, or not in time, is a failure of the
// container. At most 10 KiB of output or body are read. Connections linger for a second at
// most, where the system allows it.
package check
