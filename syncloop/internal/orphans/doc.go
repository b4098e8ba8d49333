// Package orphans decides how long pods are left alone that an agent before this one
// has started and that no source names: their manifests may only be late, as on a
// directory that is mounted after the agent has started.
//
// A pod's grace begins when every source that it may belong to has been heard for the
// first time. It ends early if another pod needs the pod's full name or one of its
// host ports. After that nothing is left alone any more, whenever it is seen.
//
// The package is pure: time comes as an argument.
package orphans
