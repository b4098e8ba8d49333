// Package edge opens and removes by itself.
package edge

import (
	"os"

	"module.test/internal/osfile"
)

func bad(dir *os.Root) {
	_ = os.RemoveAll("x")
	_ = dir.RemoveAll("x")
	_, _ = os.OpenRoot("x")
	open := dir.OpenRoot
	_, _ = open("x")
}

func good(dir *os.Root) {
	osfile.RemoveAll()
	_ = os.Remove("x")
}
