// Package syncer has a stair to its neighbour.
package syncer

import _ "module.test/shell"
