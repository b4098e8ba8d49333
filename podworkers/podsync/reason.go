package podsync

import (
	"github.com/podkeel/podkeel/internal/errtree"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// Reason is an error by the name that people know from statuses and events.
// Everything that fails here wraps one, or is an error of a context or of the
// runtime as it stands.
type Reason string

// Error implements error.
func (r Reason) Error() string { return "podsync: " + string(r) }

// Why a container waits, or a pod can not go on.
const (
	// ErrCrashLoopBackOff: it ended too often and waits for its next start.
	ErrCrashLoopBackOff Reason = "CrashLoopBackOff"
	// ErrImagePull: the pull has failed.
	ErrImagePull Reason = "ErrImagePull"
	// ErrRegistryUnavailable: the pull has failed because nothing answers.
	ErrRegistryUnavailable Reason = "RegistryUnavailable"
	// ErrSignatureValidation: the pull has failed because the image is not signed
	// as it must be.
	ErrSignatureValidation Reason = "SignatureValidationFailed"
	// ErrImagePullBackOff: the pull has failed before and waits.
	ErrImagePullBackOff Reason = "ImagePullBackOff"
	// ErrImageNeverPull: the image is absent and the policy is not to pull.
	ErrImageNeverPull Reason = "ErrImageNeverPull"
	// ErrImageInspect: the runtime cannot tell whether the image is there.
	ErrImageInspect Reason = "ImageInspectError"
	// ErrInvalidImageName: no image can have that name.
	ErrInvalidImageName Reason = "InvalidImageName"
	// ErrCreateContainerConfig: the spec asks for what cannot be.
	ErrCreateContainerConfig Reason = "CreateContainerConfigError"
	// ErrCreateContainer: the runtime did not make the container.
	ErrCreateContainer Reason = "CreateContainerError"
	// ErrRunContainer: the runtime did not start the container.
	ErrRunContainer Reason = "RunContainerError"
	// ErrPostStartHook: the container was stopped because its hook failed.
	ErrPostStartHook Reason = "PostStartHookError"
	// ErrKillContainer: the container could not be stopped.
	ErrKillContainer Reason = "KillContainerError"
	// ErrKillPodSandbox: the sandbox could not be stopped.
	ErrKillPodSandbox Reason = "KillPodSandboxError"
	// ErrCreatePodSandbox: the runtime did not make the sandbox.
	ErrCreatePodSandbox Reason = "CreatePodSandboxError"
)

// failure is an error with the reason that a waiting container shows, and a
// message that does not repeat it.
type failure struct {
	reason Reason
	err    error
}

func (f *failure) Error() string        { return f.reason.Error() + ": " + f.err.Error() }
func (f *failure) Unwrap() error        { return f.err }
func (f *failure) Is(target error) bool { return target == error(f.reason) }

// because gives an error its reason. A nil error stays nil.
func because(reason Reason, err error) error {
	if err == nil {
		return nil
	}
	return &failure{reason, err}
}

// waiting is what a container shows that could not be started for this error.
// False: nothing, the error says nothing about the container.
func waiting(err error) (plan.Reason, bool) {
	f, ok := errtree.As[*failure](err)
	if !ok {
		return plan.Reason{}, false
	}
	return plan.Reason{Reason: string(f.reason), Message: f.err.Error()}, true
}
