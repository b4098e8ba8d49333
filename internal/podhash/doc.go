// Package podhash hashes what decides whether a container, or what is recorded of a pod,
// still belongs to a spec. The hashes are written into annotations of containers and
// sandboxes, which outlive the process: their values are part of the format.
//
// It is pure.
package podhash
