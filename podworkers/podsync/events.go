package podsync

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager"
)

// The reasons of events, which are the kubelet's.
const (
	eventCreated          = "Created"
	eventStarted          = "Started"
	eventKilling          = "Killing"
	eventFailed           = "Failed"
	eventBackOff          = "BackOff"
	eventPulling          = "Pulling"
	eventPulled           = "Pulled"
	eventInspectFailed    = "InspectFailed"
	eventNeverPull        = "ErrImageNeverPull"
	eventNoPullSecret     = "FailedToRetrieveImagePullSecret"
	eventPostStart        = "FailedPostStartHook"
	eventPreStop          = "FailedPreStopHook"
	eventMount            = "FailedMount"
	eventDirectories      = "FailedToMakePodDataDirectories"
	eventKillPod          = "FailedKillPod"
	eventCreateSandbox    = "FailedCreatePodSandBox"
	eventSandboxChanged   = "SandboxChanged"
	eventMismatch         = "RuntimeMismatch"
	eventNetworkNotReady  = "NetworkNotReady"
	eventInvalidVariables = "InvalidEnvironmentVariableNames"
	eventDNS              = "DNSConfigForming"
	eventIgnoredField     = "IgnoredField" // as at admission; it is not the kubelet's
)

// tell tells people what is as it should be with a pod, or with one of its
// containers.
func (s *Syncer) tell(v *syncPass, container, reason, format string, args ...any) {
	s.cfg.Recorder.Event(podmanager.Reference(v.pod, container), v1.EventTypeNormal, reason, sentence(format, args))
}

// warn tells people what is not.
func (s *Syncer) warn(v *syncPass, container, reason, format string, args ...any) {
	s.cfg.Recorder.Event(podmanager.Reference(v.pod, container), v1.EventTypeWarning, reason, sentence(format, args))
}

// sentence is a message for people, without the colon before a reason that nobody gave.
func sentence(format string, args []any) string {
	return strings.TrimSuffix(plain.Sentence(format, args...), ": ")
}
