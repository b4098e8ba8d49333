// Package apiserver says what a node needs of a Kubernetes API server, as small blocking interfaces
// (experimental). It runs nothing.
//
// The loops of a joined node (the pod source, the status sink, mirror pods, the
// node object and its lease) are in the packages below this one. They use these
// interfaces only, so that a simulation can put a scripted server beneath them.
// Package client implements them with client-go, package apiservertest in memory;
// both pass the conformance suite of apiservertest.
//
// # The contract
//
//   - Each call is one request. It blocks until the server has answered or ctx has
//     ended; the implementation does not repeat it and does not wait for a rate
//     limit. Who calls decides when to ask again.
//   - The answer of a server that refuses is an error for which
//     apierrors.ReasonForError of k8s.io/apimachinery finds the reason, as client-go
//     has it: NotFound, Conflict, AlreadyExists, Forbidden, Unauthorized, Expired,
//     TooManyRequests, Invalid. SuggestsClientDelay finds the Retry-After.
//   - Any other error means that no answer came: the request may have been carried
//     out.
//   - Returned objects are the caller's. Arguments are not changed and not kept.
//   - All methods are safe for concurrent use.
package apiserver
