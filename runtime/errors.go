package runtime

import (
	"errors"
	"fmt"
)

// The errors that an implementation returns, wrapped with details. Callers compare them with errors.Is.
var (
	// ErrNotFound: the sandbox, container or image does not exist.
	ErrNotFound = errors.New("runtime: not found")
	// ErrExists: a record with this name and attempt exists. An earlier call whose reply was lost
	// may have created it. The caller reads PodStatus before it repeats the call.
	ErrExists = errors.New("runtime: already exists")
	// ErrWrongState: the state of the record does not allow the call.
	ErrWrongState = errors.New("runtime: wrong state")
	// ErrNotReady: the runtime is down or still starting. The caller must not conclude that a
	// record is absent.
	ErrNotReady = errors.New("runtime: not ready")
	// ErrNetworkNotReady: the pod network is not up yet.
	ErrNetworkNotReady = errors.New("runtime: network is not ready")
	// ErrImage: the image cannot be pulled.
	ErrImage = errors.New("runtime: image cannot be pulled")
	// ErrRegistryUnavailable: the registry does not respond. It wraps ErrImage. An implementation
	// that does not know the cause returns ErrImage.
	ErrRegistryUnavailable = fmt.Errorf("%w: registry is not available", ErrImage)
	// ErrSignature: the image was pulled, but its signature is not valid. It wraps ErrImage.
	ErrSignature = fmt.Errorf("%w: signature is not valid", ErrImage)
	// ErrSecondRun: a Run method was called a second time. Every type of this module with a Run
	// method runs only once, and returns this error wrapped with the name of its package.
	ErrSecondRun = errors.New("Run was called a second time")
	// ErrUnsupported: the runtime does not support the request.
	ErrUnsupported = errors.New("runtime: unsupported")
)
