// Package orphans decides how long pods of an earlier agent that no source names are left
// alone. Their manifests may be late, for instance in a directory that is mounted after the
// agent has started.
//
// A pod's grace period begins when every source that it may belong to has delivered once.
// It ends early if another pod needs the pod's full name or one of its host ports. After
// that no orphan is left alone. The package is pure: time is an argument.
package orphans
