//go:build !unix

package osfile

// Nothing where files of other kinds are not opened by name.
const nonBlocking, noFollow = 0, 0
