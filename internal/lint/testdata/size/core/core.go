// Package core is too long: this comment is not code, but is there to be read too.
package core

const text = `two
lines` // One comment more.

/*
Nor is this
code.
*/

// Short has one line.
func Short() {}

// Long has six.
func Long(
	a int,
) int {
	return a
} // The end.
