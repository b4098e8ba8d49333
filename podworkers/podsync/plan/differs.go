package plan

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Made is what a container was asked to be made with, as far as the runtime has to
// report it.
type Made struct {
	Name, SandboxID, Hash string
	Attempt               uint32
	Incarnation           uint64
}

// Difference is a field that the runtime reports otherwise than it was asked for.
type Difference struct{ Field, Wanted, Seen string }

// Differs names the field of a record for which a container is killed, if that is
// not as the container was made. False: it is, and the reason lies elsewhere.
func Differs(why Why, made Made, rec *runtime.ContainerStatus) (Difference, bool) {
	var d Difference
	switch why {
	case WhySpecChanged:
		d = Difference{"Annotations[" + HashAnnotation + "]", made.Hash, rec.Annotations[HashAnnotation]}
	case WhyUnknownState:
		d = Difference{"State", runtime.StateRunning.String(), rec.State.String()}
	case WhyOtherSandbox:
		d = Difference{"SandboxID", made.SandboxID, rec.SandboxID}
	case WhyOlderAttempt:
		d = Difference{"Attempt", fmt.Sprint(made.Attempt), fmt.Sprint(rec.Attempt)}
	case WhyPreviousIncarnation:
		d = Difference{"Incarnation", fmt.Sprint(made.Incarnation), fmt.Sprint(rec.Incarnation)}
	case WhyNotInSpec:
		d = Difference{"Name", made.Name, rec.Name}
	}
	return d, d.Wanted != d.Seen
}

// SandboxDiffers is Differs for the newest sandbox of an incarnation: the one that was made
// last, or nil if the runtime does not show that.
func SandboxDiffers(why Why, pod *v1.Pod, incarnation uint64, made *runtime.SandboxStatus) (Difference, bool) {
	var d Difference
	switch {
	case made == nil && why == WhyNoSandbox:
		d = Difference{"Sandboxes", "the sandbox", "none"}
	case made == nil:
	case why == WhyNoSandbox:
		d = Difference{"Incarnation", fmt.Sprint(incarnation), fmt.Sprint(made.Incarnation)}
	case why == WhyNetworkMode:
		d = Difference{"HostNetwork", fmt.Sprint(pod.Spec.HostNetwork), fmt.Sprint(made.HostNetwork)}
	case why == WhyNoAddress:
		d = Difference{"IPs", "an address", "none"}
	case why == WhySandboxNotReady:
		d = Difference{"Ready", "true", "false"}
	}
	return d, d.Wanted != d.Seen
}
