// Package grpccheck makes the checks of grpc probes: it asks the standard
// health service of a server whether it is serving. It is apart from package
// check because it brings gRPC along, and is linked by those who ask for it:
//
//	check.New(check.Config{GRPC: grpccheck.New(grpccheck.Config{})})
//
// SERVING is a success; every other status, a server without the service, and
// that nobody answers are failures. A port that cannot be is an error.
//
// # Statements kept
//
// F26 (an unknown port is an error), F96 (answers are bounded).
//
// # Differences from the kubelet, and why
//
//   - A pod without an address makes the check an error, as in package check.
//   - The proxy of the agent's environment is never used.
package grpccheck
