//go:build !unix

package manifest

import "os"

// openFile opens for reading. Other systems do not keep pipes and devices among
// their files.
func openFile(file string) (*os.File, error) { return os.Open(file) }

// openDir opens a directory.
func openDir(dir string) (*os.File, error) { return os.Open(dir) }
