// Package containers finds the containers of a pod in its spec, and their statuses: which
// containers there are, which one has a name, and whether an init container is a sidecar.
// It is pure. It returns pointers into its arguments and changes nothing.
package containers
