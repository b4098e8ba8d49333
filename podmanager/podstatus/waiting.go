package podstatus

import v1 "k8s.io/api/core/v1"

// The reasons of a waiting container.
const (
	// ReasonContainerCreating: the container has not been created yet.
	ReasonContainerCreating Reason = "ContainerCreating"
	// ReasonPodInitializing: the container has not been created yet, and its pod has init
	// containers.
	ReasonPodInitializing Reason = "PodInitializing"
	// ReasonRestartingAllContainers: all containers of the pod restart. It is also the reason of a
	// container that was stopped for that.
	ReasonRestartingAllContainers Reason = "RestartingAllContainers"
	// ReasonCrashLoopBackOff: the container has exited repeatedly and waits for its restart.
	ReasonCrashLoopBackOff Reason = "CrashLoopBackOff"
	// ReasonErrImagePull: the image pull has failed.
	ReasonErrImagePull Reason = "ErrImagePull"
	// ReasonRegistryUnavailable: the image pull has failed because the registry does not respond.
	ReasonRegistryUnavailable Reason = "RegistryUnavailable"
	// ReasonSignatureValidationFailed: the image pull has failed because the image has no valid
	// signature.
	ReasonSignatureValidationFailed Reason = "SignatureValidationFailed"
	// ReasonImagePullBackOff: the image pull has failed and waits for its retry.
	ReasonImagePullBackOff Reason = "ImagePullBackOff"
	// ReasonErrImageNeverPull: the image is absent and the pull policy is Never.
	ReasonErrImageNeverPull Reason = "ErrImageNeverPull"
	// ReasonImageInspectError: the runtime could not report whether the image is present.
	ReasonImageInspectError Reason = "ImageInspectError"
	// ReasonInvalidImageName: the image name is invalid.
	ReasonInvalidImageName Reason = "InvalidImageName"
	// ReasonCreateContainerConfigError: the spec refers to something that does not exist.
	ReasonCreateContainerConfigError Reason = "CreateContainerConfigError"
	// ReasonCreateContainerError: the runtime did not create the container.
	ReasonCreateContainerError Reason = "CreateContainerError"
	// ReasonRunContainerError: the runtime did not start the container.
	ReasonRunContainerError Reason = "RunContainerError"
	// ReasonPostStartHookError: the container was stopped because its postStart hook failed.
	ReasonPostStartHookError Reason = "PostStartHookError"
)

// Waiting has the facts about a waiting container without a record and without an error.
// WaitingReason does not change or keep them.
type Waiting struct {
	Pod       *v1.Pod
	Container *v1.Container
	// Ephemeral: it is an ephemeral container, which does not wait for the initialization.
	Ephemeral bool
	// Published is the last published status. Its lists may be empty.
	Published *v1.PodStatus
}

// WaitingReason returns the reason for which a container waits.
func WaitingReason(w Waiting) Reason {
	switch {
	case len(w.Pod.Spec.InitContainers) > 0 && !w.Ephemeral:
		return ReasonPodInitializing
	}
	return ReasonContainerCreating
}

// Meaning is what a waiting reason tells people.
type Meaning struct {
	// Sentence says what the container waits for. It continues "waits:". It replaces an empty
	// message of the status. Empty: the reason needs no sentence.
	Sentence string
	// Working: the sentence is true only while the pod is being synced.
	Working bool
	// Pending: the container waits for its pod and has no problem of its own. An explanation of the
	// pod omits it while the pod has no sandbox.
	Pending bool
	// Backoff is the name of the delay before the next try; empty: the delay has no name.
	Backoff string
}

// The names of delays.
const (
	crashLoopBackoffName = "crash-loop back-off"
	imagePullBackoffName = "image pull back-off"
)

var meanings = map[Reason]Meaning{
	ReasonContainerCreating:         {Sentence: "its image is being fetched, or it is being made", Working: true, Pending: true},
	ReasonPodInitializing:           {Pending: true},
	ReasonCrashLoopBackOff:          {Backoff: crashLoopBackoffName},
	ReasonErrImagePull:              {Backoff: imagePullBackoffName},
	ReasonRegistryUnavailable:       {Backoff: imagePullBackoffName},
	ReasonSignatureValidationFailed: {Backoff: imagePullBackoffName},
	ReasonImagePullBackOff:          {Backoff: imagePullBackoffName},
}

// Meaning returns the meaning of a reason; zero for an unknown reason.
func (r Reason) Meaning() Meaning { return meanings[r] }
