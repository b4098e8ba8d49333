//go:build !unix

package objects

import "os"

// Nothing where files of other kinds are not opened by name.
const nonBlocking, onlyDirectory = 0, 0

// openRoot opens a directory.
func openRoot(dir string) (*os.Root, error) { return os.OpenRoot(dir) }
