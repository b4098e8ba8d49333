// Package edge is the door.
package edge

import _ "example.com/heavy"
