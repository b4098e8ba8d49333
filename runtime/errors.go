package runtime

import (
	"errors"
	"fmt"
)

// The errors of every implementation. They are wrapped, and compared with errors.Is. An
// adapter translates its own codes into them once.
var (
	// ErrNotFound: the sandbox, container or image does not exist.
	ErrNotFound = errors.New("runtime: not found")
	// ErrExists: the name and attempt are taken, perhaps by an earlier call
	// whose reply was lost. Look, and try the same attempt again.
	ErrExists = errors.New("runtime: already exists")
	// ErrWrongState: the record is in a state that does not allow the verb.
	ErrWrongState = errors.New("runtime: wrong state")
	// ErrNotReady: the runtime is down or not up yet. Nothing can be
	// concluded from it, least of all that something is absent.
	ErrNotReady = errors.New("runtime: not ready")
	// ErrNetworkNotReady: the pod network is not up yet.
	ErrNetworkNotReady = errors.New("runtime: network is not ready")
	// ErrImage: the image cannot be pulled.
	ErrImage = errors.New("runtime: image cannot be pulled")
	// ErrRegistryUnavailable: the registry does not answer. It wraps ErrImage, which an
	// implementation that cannot tell the cause returns.
	ErrRegistryUnavailable = fmt.Errorf("%w: registry is not available", ErrImage)
	// ErrSignature: the image was pulled and its signature is not accepted. It wraps
	// ErrImage too.
	ErrSignature = fmt.Errorf("%w: signature is not valid", ErrImage)
	// ErrSecondRun: Run was called again, beside another call of it or after its end. Every
	// part that has a Run runs once, and returns this error with the name of its package.
	ErrSecondRun = errors.New("Run was called a second time")
	// ErrUnsupported: the runtime cannot do what the request asks for.
	ErrUnsupported = errors.New("runtime: unsupported")
)
