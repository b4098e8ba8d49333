// Package shell is a simulated runtime.
package shell

// Run runs.
func Run() {}
