// Package shell shows one of its constructors.
package shell

// Shell is one.
type Shell struct{}

// New is shown.
func New() *Shell { return nil }

// NewWith is shown, and has a type parameter.
func NewWith[T any]() *Shell { return nil }

// NewDeaf is shown in an example that is never run.
func NewDeaf() *Shell { return nil }

// NewMute is only tested.
func NewMute() *Shell { return nil }
