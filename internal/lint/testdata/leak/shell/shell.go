// Package shell has tests that look away.
package shell
