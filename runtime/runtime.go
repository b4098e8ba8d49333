package runtime

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// Runtime drives pods on a machine. It is the whole of what an implementer
// must provide: thirteen verbs in four roles. A runtime that can do more is a
// FeatureReporter too.
//
// Every method is called concurrently with every other, for the same pod too.
// doc.go says what each implementer promises beyond the method comments.
type Runtime interface {
	PodLister
	Sandboxes
	Containers
	Images
}

// PodLister shows what the runtime has records of.
type PodLister interface {
	// ListPods returns every pod of which a sandbox or container record
	// exists, running or not, with shallow records. It is called about once a
	// second, or twice a minute where an EventSource works, by one caller, and
	// its result is only read. A stable order of pods and of their records
	// makes the caller's comparison cheap; no order is required. An error means
	// that nothing is known: a runtime that is not ready returns ErrNotReady
	// and never a short list.
	ListPods(ctx context.Context) ([]Pod, error)
	// PodStatus returns all that is known of one pod, straight from the
	// runtime. A pod without records is not an error: its status has the UID
	// and nothing else. Called once per observed change of a pod, for several
	// pods at once.
	PodStatus(ctx context.Context, uid types.UID) (*PodStatus, error)
}

// Sandboxes are the shells in which a pod's containers live.
type Sandboxes interface {
	// RunSandbox creates and starts the sandbox of a pod and returns its ID.
	// ErrExists: the UID has a sandbox of that attempt already, of whatever incarnation and whether
	// it is ready or not.
	RunSandbox(ctx context.Context, req RunSandboxRequest) (id string, err error)
	// StopSandbox kills what still runs in the sandbox and releases its
	// network. Stopping a stopped sandbox is no error; an unknown one is
	// ErrNotFound.
	StopSandbox(ctx context.Context, req StopSandboxRequest) error
	// RemoveSandbox stops the sandbox if need be and drops its records and
	// those of its containers. Removing an unknown one is no error.
	RemoveSandbox(ctx context.Context, req RemoveSandboxRequest) error
}

// Containers run inside sandboxes.
type Containers interface {
	// CreateContainer makes a container that does not run yet and returns its
	// ID. ErrExists: the name is taken by the same attempt in that sandbox; a
	// runtime may also say so of another sandbox of the pod.
	// ErrNotFound: there is no such sandbox, or no such image. ErrWrongState:
	// the sandbox has been stopped.
	CreateContainer(ctx context.Context, req CreateContainerRequest) (id string, err error)
	// StartContainer starts a created container. Starting a running one is no
	// error; one that has exited is ErrWrongState, and so is one in a sandbox
	// that has been stopped. An unknown container is ErrNotFound. ErrExists:
	// another call starts it just now. After an error of another kind the
	// container has exited, or is still created.
	StartContainer(ctx context.Context, req StartContainerRequest) error
	// StopContainer asks the container to end, waits for at most the grace of
	// the request and then kills it. It returns when the container does not
	// run any more, nil too if it did not run in the first place. A second
	// call with a shorter grace, while the first still waits, takes effect at
	// once; one with a longer grace changes nothing. Without a grace there is
	// no asking. An unknown container is ErrNotFound.
	StopContainer(ctx context.Context, req StopContainerRequest) error
	// RemoveContainer drops the records of a container that does not run;
	// ErrWrongState if it does. With NeverRan that is also the error of one that
	// has exited, as a start may be under way of which the caller knows nothing.
	// Removing an unknown one is no error.
	RemoveContainer(ctx context.Context, req RemoveContainerRequest) error
}

// Images pulls, lists and removes images. A runtime without images treats every name as
// present: PullImage returns the name as the reference, ImageStatus an image of that ID,
// ListImages nothing, and RemoveImage nil.
type Images interface {
	// PullImage fetches an image and returns the reference to create containers with.
	// ErrImage: the image cannot be pulled; if the cause is known,
	// ErrRegistryUnavailable or ErrSignature.
	PullImage(ctx context.Context, req PullImageRequest) (ref string, err error)
	// ImageStatus looks an image up by any of its names. A missing image is
	// ErrNotFound.
	ImageStatus(ctx context.Context, req ImageStatusRequest) (Image, error)
	// ListImages returns all images that are present.
	ListImages(ctx context.Context) ([]Image, error)
	// RemoveImage drops an image. Removing an unknown one is no error.
	RemoveImage(ctx context.Context, req RemoveImageRequest) error
}
