// Package resources adds up what a pod requests. It is pure.
//
//	pod as a whole = max(what runs at the end, what runs during each init step)
//	                 replaced by spec.resources, where that is set
//	                 + spec.overhead
//
// A sidecar counts from its own init step on and at the end. Admission compares the sum
// with the node's capacity, and the sandbox gets it for the pod as a whole. A missing
// request is the limit, as the API server would have set it. QOSClass is computed from the
// spec, whatever the status says.
package resources
