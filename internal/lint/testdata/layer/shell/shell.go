// Package shell looks down, which is right, and beside itself.
package shell

import (
	_ "module.test/core"
	_ "module.test/neighbour"
	_ "module.test/syncer"
)
