// Package environ resolves what a container is told at its start: its
// environment, its command and its arguments. It is pure: the objects that are
// referred to come as data, and Needs says which.
//
// # The order
//
// First envFrom, then env, each in the order it is written; the keys of one
// object in alphabetical order. A later value replaces an earlier one of the
// same name, and keeps its place.
//
// A value under env may refer to variables by $(NAME), to those that have a
// value by then: of envFrom, and of env further up. So there are no cycles to
// find; a variable that refers to itself gets what an earlier one of its name
// had. What refers to nothing is left as it is, $$ stands for a dollar, and
// nothing is expanded twice. Values that come from elsewhere are not expanded.
// Command and arguments may refer to every variable.
//
// # Bounds
//
// An environment, and a command with its arguments, have at most MaxBytes: values
// that double each other would fill the memory otherwise. No name or value has a
// NUL byte, which no process can be given.
//
// # Statements kept
//
// KC-3 (every error here keeps the container from being created, as
// CreateContainerConfigError), KC-18, F14.
//
// # Differences from the kubelet
//
//   - The order of the variables is that of the spec, not one by chance.
//   - Bounds. There, the runtime fails with what it makes of them.
//   - fileKeyRef is not supported, see Problems.
//   - No variables of services: they come from an API server.
package environ
