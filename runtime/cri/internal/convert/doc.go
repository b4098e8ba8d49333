// Package convert converts between Podkeel's types and the types of CRI. It is pure. It does not
// trust values from CRI: a missing or unknown value becomes the zero value, an unknown state, or a
// skipped record, and never a panic.
//
// Labels and annotations of this package override the labels and annotations of the request, so that a pod cannot claim
// to be another pod. Lists are filtered by labels: the four labels of the kubelet and the owner.
// Annotations hold values for which CRI has no field: the incarnation, the requested image, and the
// fields of a sandbox that each of its containers repeats.
//
// CRI has no field for the PID limit of a container. It is passed as pids.max, which cgroup v1 does
// not support. A test fails for each field of a request that no function of this package reads.
package convert
