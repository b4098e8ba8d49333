package node

import (
	"testing"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/sourcetest"
)

// TestHeld_Promises: the source of the pods that the host program applies.
func TestHeld_Promises(t *testing.T) {
	sourcetest.RunInBubble(t, func(*testing.T) sourcetest.Harness {
		pods := source.NewHandle()
		return sourcetest.Harness{Source: hold(pods, true, false), Set: pods.Replace}
	})
}
