// Package podresources computes QoS, sums and cgroup values of a pod from its spec (experimental). It converts
// between the units of the Kubernetes API and the units of the kernel:
//
//	milli-CPU of a request   CPU shares (cgroup v1), CPU weight (cgroup v2)
//	milli-CPU of a limit     CPU quota in each period
//	memory request           oom_score_adj of a container
//
// ValuesForPod returns the values of the cgroup of a pod. The values are wanted values: a caller compares them with
// the files of the cgroup and writes the differences (package cgroups). Each of them is a Value, which tells three
// cases apart that are all called zero or absent elsewhere:
//
//	unset       the file is not written
//	unlimited   the file is written, so that an earlier limit is removed
//	a number    the file has this number, also if it is 0
//
// The requests and limits of a pod include its sidecars, its init containers, its own spec.resources and its overhead.
// A resource of the pod has a limit only if every single container has one, or spec.resources has one. A missing
// request is the limit, as the API server sets it.
//
// The package is pure: it reads no file and no clock, and changes none of its arguments. All functions may be called
// concurrently.
package podresources
