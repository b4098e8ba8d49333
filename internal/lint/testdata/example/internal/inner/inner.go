// Package inner shows nothing, since strangers cannot call it.
package inner

// New is ours.
func New() {}
