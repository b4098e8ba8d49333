package core

import "testing"

// TestKeep_B001_Keeps has its rule's id in its name.
func TestKeep_B001_Keeps(t *testing.T) {}

// TestOther holds B-002 in a comment.
func TestOther(t *testing.T) {
	t.Run("F9, which has no row", func(t *testing.T) {})
}

// helper is no test, but part of one: B-004.
func helper() {}
