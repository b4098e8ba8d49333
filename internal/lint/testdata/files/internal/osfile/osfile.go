// Package osfile is where it belongs.
package osfile

import "os"

// RemoveAll removes.
func RemoveAll() { _ = os.RemoveAll("x") }
