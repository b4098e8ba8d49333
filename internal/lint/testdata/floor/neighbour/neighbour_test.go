package neighbour

import _ "house.test/loop" // A test may.
