// Package resources adds up what a pod asks for: a pure computation on specs.
//
//	pod as a whole = max(what runs at the end, what runs during each init step)
//	                 replaced by spec.resources, where that speaks
//	                 + spec.overhead
//
// Sidecars run from their own init step on: each counts in every step after it,
// and at the end. Admission compares the sum with the node's capacity, and the
// sandbox is given it for the pod as a whole.
//
// # Statements kept
//
// AD-5 and AD-10 as far as a pod's side of the comparison is concerned. A request
// that is left out is the limit, as the API server would have filled it in. PH-15:
// QOSClass is what the pod amounts to, whatever its status says.
//
// # Differences from the kubelet
//
//   - Pods are not defaulted twice: a manifest that bypassed the API server is
//     understood as the API server would have completed it.
package resources
