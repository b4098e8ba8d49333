package runtime

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// Runtime drives pods on a machine. It is everything that an implementation must have: thirteen
// methods in four roles. A runtime with optional features is also a FeatureReporter.
//
// All methods are called concurrently, also for the same pod. The package comment lists what every
// implementation guarantees in addition to the method comments.
type Runtime interface {
	PodLister
	Sandboxes
	Containers
	Images
}

// PodLister returns the records of the runtime.
type PodLister interface {
	// ListPods returns every pod that has a sandbox or container record, running or not. Its
	// records are shallow. One caller calls it about once a second, or twice a minute if an
	// EventSource works, and does not modify the result. No order is required, but a stable order
	// of pods and records makes the caller's comparison cheap. An error means that no pod could be
	// listed. A runtime that is not ready returns ErrNotReady, and never an incomplete list.
	ListPods(ctx context.Context) ([]Pod, error)
	// PodStatus returns all records of one pod, read from the runtime and not from a cache. For a
	// pod without records it returns a status with the UID only, and no error. It is called once
	// per observed change of a pod, for several pods at once.
	PodStatus(ctx context.Context, uid types.UID) (*PodStatus, error)
}

// Sandboxes runs pod sandboxes, the environments in which the containers of a pod run.
type Sandboxes interface {
	// RunSandbox creates and starts the sandbox of a pod and returns its ID. It returns ErrExists
	// if the UID has a sandbox with that attempt, of any incarnation, ready or not.
	RunSandbox(ctx context.Context, req RunSandboxRequest) (id string, err error)
	// StopSandbox kills all containers of the sandbox and releases its network. Stopping a stopped
	// sandbox succeeds. An unknown sandbox is ErrNotFound.
	StopSandbox(ctx context.Context, req StopSandboxRequest) error
	// RemoveSandbox removes the records of the sandbox and of its containers. It stops the sandbox
	// first if necessary. Removing an unknown sandbox succeeds.
	RemoveSandbox(ctx context.Context, req RemoveSandboxRequest) error
}

// Containers runs containers inside sandboxes.
type Containers interface {
	// CreateContainer creates a container without starting it and returns its ID. It returns
	// ErrExists if the sandbox has a container with that name and attempt; a runtime may also
	// return ErrExists if another sandbox of the pod has one. It returns ErrNotFound if the sandbox
	// or the image does not exist, and ErrWrongState if the sandbox was stopped.
	CreateContainer(ctx context.Context, req CreateContainerRequest) (id string, err error)
	// StartContainer starts a created container. Starting a running container succeeds. It returns
	// ErrWrongState if the container has exited or its sandbox was stopped, ErrNotFound if the
	// container is unknown, and ErrExists if another call is starting it. After any other error the
	// container is exited or still created.
	StartContainer(ctx context.Context, req StartContainerRequest) error
	// StopContainer sends the stop signal, waits for at most the grace period of the request and
	// then kills the container. It returns when the container does not run any longer. It returns
	// nil at once for a container that does not run. A second call with a shorter grace period,
	// while the first waits, takes effect at once. A second call with a longer one changes nothing.
	// A grace period of zero sends no stop signal. An unknown container is ErrNotFound. If ctx ends
	// during the grace period, a runtime may not kill the container, so the caller calls again.
	StopContainer(ctx context.Context, req StopContainerRequest) error
	// RemoveContainer removes the record of a container that does not run, and returns
	// ErrWrongState if it runs. With NeverRan it also returns ErrWrongState if the container has
	// exited: an earlier StartContainer whose reply was lost may have started it, and its exit must
	// be observed first. Removing an unknown container succeeds.
	RemoveContainer(ctx context.Context, req RemoveContainerRequest) error
}

// Images pulls, lists and removes images. In a runtime without images every name is present:
// PullImage returns the name as the reference, ImageStatus returns an image with that ID,
// ListImages returns nothing, and RemoveImage returns nil. NoImages implements that.
type Images interface {
	// PullImage pulls an image and returns the reference for CreateContainer. It returns ErrImage
	// if the image cannot be pulled, or ErrRegistryUnavailable or ErrSignature if that is the known
	// cause.
	PullImage(ctx context.Context, req PullImageRequest) (ref string, err error)
	// ImageStatus finds an image by any of its names. A missing image is ErrNotFound.
	ImageStatus(ctx context.Context, req ImageStatusRequest) (Image, error)
	// ListImages returns all images that are present.
	ListImages(ctx context.Context) ([]Image, error)
	// RemoveImage removes an image. Removing an unknown image succeeds.
	RemoveImage(ctx context.Context, req RemoveImageRequest) error
}
