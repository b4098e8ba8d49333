// Package kit may.
package kit

import "os"

func fine() { _ = os.RemoveAll("x") }
