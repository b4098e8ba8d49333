//go:build !unix

package osfile

// nonBlocking is nothing where files of other kinds are not opened by name.
const nonBlocking = 0
