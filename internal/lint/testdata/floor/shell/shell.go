// Package shell looks down, which is right, and beside itself.
package shell

import (
	_ "house.test/core"
	_ "house.test/neighbour"
	_ "house.test/syncer"
)
