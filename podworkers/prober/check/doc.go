// Package check performs the checks of exec, HTTP and TCP probes (experimental). Package grpccheck
// performs the checks of gRPC probes. It is separate because it links gRPC. A Checker takes it as an
// option.
//
// A check that could not be made is an error: an unknown port, a pod without an address, a
// failed runtime. A server that does not respond in time is a failure of the container. A check reads
// at most 10 KiB of output or body. A closed connection lingers for at most a second, where the system
// allows it.
package check
