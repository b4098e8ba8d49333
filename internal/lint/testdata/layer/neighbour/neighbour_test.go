package neighbour

import _ "module.test/loop" // A test may.
