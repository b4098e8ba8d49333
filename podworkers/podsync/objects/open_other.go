//go:build !unix

package objects

// Nothing where files of other kinds are not opened by name.
const nonBlocking, onlyDirectory = 0, 0
