// Package hold decides whether the status of a pod that ends is sent now, and when one that was
// sent is sent again on request. It is pure: time is an argument, and nothing is remembered.
//
// A status whose end is held back, because containers of the pod could still run, is sent once, and
// looked at again each second. When no container runs any more the node has 100 ms to finish with
// the pod, so that one status tells all. When the sender ends nothing waits.
package hold
