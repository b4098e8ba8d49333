//go:build !unix

package logfiles

import "os"

const readOnly = os.O_RDONLY
