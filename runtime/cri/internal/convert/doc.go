// Package convert translates between Podkeel's types for pods and those of CRI. It only
// looks at values. What CRI says is not trusted: a missing or unknown value becomes the
// zero value, an unknown state, or a record that is skipped, never a panic.
//
// Labels and annotations of the request come first, ours over them, so that a pod cannot
// pass for another's. Labels are what lists are filtered by: the kubelet's four and the
// owner. Annotations hold what CRI has no field for: the incarnation, the image as it was
// requested, and what has to be repeated for each container of a sandbox.
//
// CRI has no field for the number of processes of a container: it goes as pids.max, which
// cgroup v1 does not know. A test fails for each field of a request that no function here
// reads.
package convert
