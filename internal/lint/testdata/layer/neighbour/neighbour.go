// Package neighbour looks up.
package neighbour

import _ "module.test/loop"
