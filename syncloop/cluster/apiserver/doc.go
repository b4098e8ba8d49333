// Package apiserver defines the requests of a node to a Kubernetes API server as small blocking interfaces
// (experimental). It has no implementation.
//
// The loops of a joined node (the pod source, the status sink, mirror pods, the node object and its lease)
// are in the packages below syncloop/cluster. They use only these interfaces, so that a simulation can
// replace the server. Package client implements the interfaces with client-go, package apiservertest in
// memory. Both pass the conformance suite of apiservertest.
//
// # The contract
//
//   - Each call is one request. It blocks until the server has responded or ctx is done. The implementation
//     does not retry and has no rate limit. The caller decides when to retry.
//   - If the server refuses a request, the error has a reason for apierrors.ReasonForError of
//     k8s.io/apimachinery, as in client-go: NotFound, Conflict, AlreadyExists, Forbidden, Unauthorized,
//     Expired, TooManyRequests or Invalid. SuggestsClientDelay returns its Retry-After.
//   - Any other error means that no response arrived. The server may have executed the request.
//   - The caller owns returned objects. An implementation does not change or keep its arguments.
//   - All methods are safe for concurrent use.
//   - The loops treat each response as current. A wrapper that answers from saved objects while the server is
//     down therefore makes the node start a saved pod, and terminate a pod that a saved list lacks. No test
//     has such a wrapper.
package apiserver
