package convert

import (
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// RuntimeStatus reads the two conditions that there must be. One that is not
// said is not met.
func RuntimeStatus(s *cri.RuntimeStatus) runtime.RuntimeStatus {
	out := runtime.RuntimeStatus{RuntimeMessage: unsaid, NetworkMessage: unsaid}
	for _, c := range s.GetConditions() {
		switch c.GetType() {
		case cri.RuntimeReady:
			out.RuntimeReady, out.RuntimeMessage = c.GetStatus(), why(c)
		case cri.NetworkReady:
			out.NetworkReady, out.NetworkMessage = c.GetStatus(), why(c)
		}
	}
	return out
}

const unsaid = "the runtime does not say"

// why is for people; whoever is ready needs no reason.
func why(c *cri.RuntimeCondition) string {
	if c.GetStatus() {
		return ""
	}
	if c.GetReason() == "" {
		return c.GetMessage()
	}
	if c.GetMessage() == "" {
		return c.GetReason()
	}
	return c.GetReason() + ": " + c.GetMessage()
}
