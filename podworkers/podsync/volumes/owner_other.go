//go:build !unix

package volumes

import "io/fs"

// groupOf is not known here.
func groupOf(fs.FileInfo) (group int, known bool) { return 0, false }
