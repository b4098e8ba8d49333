// Package podspec answers questions about the spec of a pod that several packages must answer in the same way. It is
// pure: it changes none of its arguments. Some results are pointers into the arguments.
//
//	containers   the containers of a pod, by kind and by name; whether one is a sidecar
//	resources    requests, limits and host ports of the pod
//	qos          the quality of service class of the pod, and whether the pod is critical
//	quantity     which quantities can be computed with
//	affinity     which nodes the terms of a pod or of a volume select
//	uid          which UIDs are valid
//	hash         whether a container, or a record of a pod, still belongs to a spec
//	deadline     when the pod has been active for activeDeadlineSeconds
//
// The requests of a pod are
//
//	pod as a whole = max(containers after initialization, containers during each init step)
//	                 replaced by spec.resources, where that is set
//	                 + spec.overhead
//
// A sidecar counts from its own init step on, and after initialization. A missing request is the limit, as the API
// server would have set it. A deadline that a duration cannot hold is cut to MaxDuration.
//
// The tests compare the results with k8s.io/component-helpers, which this package does not use. The node selector of
// component-helpers makes 38 allocations where this one makes 15. Its sums do not use a container's limit as its
// missing request. They also write into the quantities of the pod if the sum does not fit 64 bits.
//
// ParseQuantity of apimachinery parses the quantities, after this package has checked their length and exponent. An
// exponent of some digits, such as 1e2000000000, would make apimachinery compute for minutes.
package podspec
