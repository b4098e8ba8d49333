package nodetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestTranscript_AHookThatEndsWithItsContainer: under goroutines the hook, the event of its failure
// and the stop of the container come in any order of one instant. The transcript has one.
func TestTranscript_AHookThatEndsWithItsContainer(t *testing.T) {
	hook := line{at: time.Second, container: "a", text: "Hook pre-stop a: ended"}
	event := line{at: time.Second, text: preStopEvent + "a failed: it could not be run"}
	stop := line{at: time.Second, container: "a", text: "StopContainer a grace=1s"}
	earlier := line{text: preStopEvent + "a failed: earlier"}
	other := line{at: time.Second, container: "b", text: "StopContainer b grace=1s"}
	for _, did := range [][]line{{earlier, other, hook, event, stop}, {earlier, other, event, hook, stop}, {earlier, other, event, stop, hook}} {
		var texts []string
		for _, l := range orderParallelLines(did) {
			texts = append(texts, l.text)
		}
		assert.Equal(t, []string{earlier.text, other.text, hook.text, event.text, stop.text}, texts)
	}
}
