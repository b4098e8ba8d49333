//go:build !unix

package osfile

// This system has no such flags. Other kinds of files are not opened by a name in a directory.
const nonBlocking, noFollow = 0, 0
