package podstatus

import v1 "k8s.io/api/core/v1"

// Why a container waits.
const (
	// ReasonContainerCreating: it has not been created yet.
	ReasonContainerCreating Reason = "ContainerCreating"
	// ReasonPodInitializing: it has not been created yet, and its pod has init containers.
	ReasonPodInitializing Reason = "PodInitializing"
	// ReasonRestartingAllContainers: all containers of its pod start over. It is also how a
	// container has ended that was stopped for that.
	ReasonRestartingAllContainers Reason = "RestartingAllContainers"
	// ReasonCrashLoopBackOff: it ended too often and waits before it is restarted.
	ReasonCrashLoopBackOff Reason = "CrashLoopBackOff"
	// ReasonErrImagePull: the pull of its image has failed.
	ReasonErrImagePull Reason = "ErrImagePull"
	// ReasonRegistryUnavailable: the pull has failed because the registry does not answer.
	ReasonRegistryUnavailable Reason = "RegistryUnavailable"
	// ReasonSignatureValidationFailed: the pull has failed because the image is not signed as
	// it must be.
	ReasonSignatureValidationFailed Reason = "SignatureValidationFailed"
	// ReasonImagePullBackOff: the pull has failed before and waits before it is repeated.
	ReasonImagePullBackOff Reason = "ImagePullBackOff"
	// ReasonErrImageNeverPull: its image is absent and its pull policy is Never.
	ReasonErrImageNeverPull Reason = "ErrImageNeverPull"
	// ReasonImageInspectError: the runtime cannot tell whether its image is present.
	ReasonImageInspectError Reason = "ImageInspectError"
	// ReasonInvalidImageName: no image can have that name.
	ReasonInvalidImageName Reason = "InvalidImageName"
	// ReasonCreateContainerConfigError: the spec asks for something that cannot be had.
	ReasonCreateContainerConfigError Reason = "CreateContainerConfigError"
	// ReasonCreateContainerError: the runtime did not create the container.
	ReasonCreateContainerError Reason = "CreateContainerError"
	// ReasonRunContainerError: the runtime did not start the container.
	ReasonRunContainerError Reason = "RunContainerError"
	// ReasonPostStartHookError: the container was stopped because its postStart hook failed.
	ReasonPostStartHookError Reason = "PostStartHookError"
)

// Waiting is what is known of a container that waits without a record at the runtime, and
// without an error that says why. Nothing in it is changed or kept.
type Waiting struct {
	Pod       *v1.Pod
	Container *v1.Container
	// Ephemeral says that it is an ephemeral container: it does not wait until the pod is
	// initialized.
	Ephemeral bool
	// Published is the status that was published last. Its lists may be empty.
	Published *v1.PodStatus
}

// WaitingReason returns the reason for which such a container waits.
func WaitingReason(w Waiting) Reason {
	switch {
	case len(w.Pod.Spec.InitContainers) > 0 && !w.Ephemeral:
		return ReasonPodInitializing
	}
	return ReasonContainerCreating
}

// Meaning is what follows from a Reason for which a container waits.
type Meaning struct {
	// Sentence says what the container waits for, in words that go on after "waits:". It
	// stands in for the message of a status that has none. Empty: the reason says it.
	Sentence string
	// Working: the sentence is true only while the pod is being synced.
	Working bool
	// Pending: the container waits for its pod, and nothing is wrong with the container. An explanation of
	// the pod leaves the container out as long as the pod has no sandbox.
	Pending bool
	// Backoff names the delay after which the container is tried again; empty: it has no
	// name of its own.
	Backoff string
}

// The names of delays.
const (
	crashLoop = "crash-loop back-off"
	imagePull = "image pull back-off"
)

var meanings = map[Reason]Meaning{
	ReasonContainerCreating:         {Sentence: "its image is being fetched, or it is being made", Working: true, Pending: true},
	ReasonPodInitializing:           {Pending: true},
	ReasonCrashLoopBackOff:          {Backoff: crashLoop},
	ReasonErrImagePull:              {Backoff: imagePull},
	ReasonRegistryUnavailable:       {Backoff: imagePull},
	ReasonSignatureValidationFailed: {Backoff: imagePull},
	ReasonImagePullBackOff:          {Backoff: imagePull},
}

// Meaning returns what follows from a reason. Of one that is not known nothing does: its
// Meaning is zero.
func (r Reason) Meaning() Meaning { return meanings[r] }
