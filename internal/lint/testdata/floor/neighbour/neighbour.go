// Package neighbour looks up.
package neighbour

import _ "house.test/loop"
