// Package neighbour has tests that look.
package neighbour
