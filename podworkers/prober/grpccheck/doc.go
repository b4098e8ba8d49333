// Package grpccheck performs the checks of gRPC probes (experimental). It calls the standard health
// service of a server. It is separate from package check because it links gRPC:
//
//	check.New(check.Config{GRPC: grpccheck.New(grpccheck.Config{})})
//
// SERVING is a success. Every other status, a server without the service, and no answer are
// failures. An invalid port and a pod without an address are errors. The size of an answer is limited.
package grpccheck
