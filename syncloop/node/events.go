package node

import (
	"fmt"
	"strings"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/runtime"
)

// longestEvent is how many bytes the message of an event may have, as the API
// has it. What a runtime or a registry says can be a whole page.
const longestEvent = 1024

// brief passes events on with messages that are fit to be shown: of bounded
// length, and valid text.
type brief struct{ runtime.EventRecorder }

// Event implements runtime.EventRecorder.
func (b brief) Event(object k8sruntime.Object, eventtype, reason, message string) {
	b.EventRecorder.Event(object, eventtype, reason, shortened(message))
}

// Eventf implements runtime.EventRecorder. The message is made here: what is formatted may be
// long.
func (b brief) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	b.Event(object, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

func shortened(message string) string {
	const sign = "…"
	if len(message) > longestEvent {
		message = strings.ToValidUTF8(message[:longestEvent-len(sign)], "") + sign
	}
	return strings.ToValidUTF8(message, "?")
}
