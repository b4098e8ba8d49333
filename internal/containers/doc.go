// Package containers finds the containers of a pod in its spec, and what its
// status says of one. It is pure, and the one place for what everybody asks:
// which containers there are, which one has a name, and whether an init
// container is a sidecar.
//
// Pointers are into what was given: nothing is copied, and nothing is changed.
package containers
