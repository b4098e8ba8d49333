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
	eventCreateCgroup     = "FailedToCreatePodContainer"
	eventSandboxChanged   = "SandboxChanged"
	eventMismatch         = "RuntimeMismatch"
	eventNetworkNotReady  = "NetworkNotReady"
	eventInvalidVariables = "InvalidEnvironmentVariableNames"
	eventDNS              = "DNSConfigForming"
	eventIgnoredField     = "IgnoredField" // the reason that admission uses too; it is not the kubelet's
)

// recordEvent records a Normal event for the pod or, if container is not empty, for that container.
func (p *syncPass) recordEvent(container, reason, format string, args ...any) {
	p.cfg.Recorder.Event(podmanager.Reference(p.pod, container), v1.EventTypeNormal, reason, formatPlainMessageWithoutEndColon(format, args))
}

// recordWarning records a Warning event for the pod or, if container is not empty, for that container.
func (p *syncPass) recordWarning(container, reason, format string, args ...any) {
	p.cfg.Recorder.Event(podmanager.Reference(p.pod, container), v1.EventTypeWarning, reason, formatPlainMessageWithoutEndColon(format, args))
}

// formatPlainMessageWithoutEndColon formats the message of an event as plain text. If the message ends in ": ",
// because the last argument is empty, it removes this end.
func formatPlainMessageWithoutEndColon(format string, args []any) string {
	return strings.TrimSuffix(plain.Sentence(format, args...), ": ")
}
