package runtime

import (
	"errors"
	"fmt"
)

// The errors every implementation speaks. They are wrapped, and compared with
// errors.Is; an edge turns the codes of its own world into them, once.
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
	// ErrImage: the image cannot be had.
	ErrImage = errors.New("runtime: image cannot be pulled")
	// ErrRegistryUnavailable: nothing answers where the image would come from. It
	// is an ErrImage, as an implementation may say that knows no better.
	ErrRegistryUnavailable = fmt.Errorf("%w: registry is not available", ErrImage)
	// ErrSignature: the image came, and is not signed as it must be. It is an
	// ErrImage too.
	ErrSignature = fmt.Errorf("%w: signature is not valid", ErrImage)
	// ErrUnsupported: the runtime cannot do what the request asks for.
	ErrUnsupported = errors.New("runtime: unsupported")
)
