// Package environ resolves the environment, command and arguments of a container. It is pure: the
// caller passes the objects and files that ObjectRefs and FileRefs return.
//
// The variables of services come first, in alphabetical order of the services, then envFrom,
// then env, each in the order of the spec, and the keys of one object in alphabetical order. A
// later value replaces an earlier one of the same name and keeps its place. A value under env
// may refer to earlier variables by $(NAME); a variable that refers to itself gets the earlier
// value. An unknown reference stays as it is, $$ stands for a dollar, and nothing is expanded
// twice. Values from objects and files are not expanded. Command and arguments may refer to every
// variable.
//
// A file has a line NAME='value' for each variable.
//
// An environment, and a command with its arguments, have at most MaxBytes. No name or value
// has a NUL byte. An error here keeps the container from being created, with reason
// CreateContainerConfigError.
//
// Libraries for .env files accept other quotes and expand variables. The format of the kubelet does not
// allow that.
package environ
