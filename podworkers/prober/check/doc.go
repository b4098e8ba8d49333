// Package check makes the checks of exec, http and tcp probes; those of grpc
// probes are made by package grpccheck, which is apart because it brings gRPC
// along, and which a Checker can be given.
//
// A check that could not be made is an error: a port that is not there, a pod
// without an address, a runtime that fails. That nobody answers, or not in time,
// is a failure of the container.
//
// # Statements kept
//
// PR-21. F26 (an unknown port is an error), F96 (10 KiB of output or body are read,
// whatever is sent). Towards F84 connections linger for a second at most, where the
// system lets them.
//
// # Differences from the kubelet, and why
//
//   - A probe's path cannot name another host, as "//host/path" would: the host
//     is a field of its own. A fragment in it is not sent, and does no harm.
//   - A pod without an address makes the check an error, not a connection to
//     whatever an empty host means to the node.
//   - The user agent is kube-probe/podkeel: servers that know probes by the
//     beginning of their name know ours.
//   - The proxy of the agent's environment is never used.
//   - Variables in the command of an exec probe are not expanded here: whoever
//     adds the pod to the prober has expanded it, as for the container itself.
package check
