// Package validation sets the defaults of a pod and validates it, as the API server does. It is for
// programs that get pods from elsewhere than an API server, and for tests of such programs.
//
//	validation.Default(pod)
//	errs := validation.Validate(pod)
//	errs = append(errs, validation.References(pod, validation.Available{})...) // a static pod
//	return errs.ToAggregate()
//
// An error is a [field.Error] of apimachinery: the path of the field, such as
// spec.containers[0].image, the value, and a sentence about the expected value. A function returns all
// errors at once, in the order of the checks, for maps in the order of their keys.
//
// The package is pure: its functions depend only on their arguments and may be called concurrently.
// Only [Default] changes the pod. No function panics, for any pod.
//
// # Scope
//
// [ValidateAccepted] checks the values that can make a node do something wrong: names that become
// files or host names, paths that lead out of a volume, numbers that overflow, references
// within the pod, unions with no or several members, probes, hooks, resources and ports.
// [Validate] also rejects, for a new pod, the values that an API server rejects in a field that a node
// acts on, such as a preStop hook that sleeps for longer than the grace period. It does not check the
// status and the fields that only a scheduler or an API server reads: affinity to pods, preferences,
// topology, finalizers, owner references.
//
// # Differences from the API server
//
//   - Pods of Windows are not checked for fields of Linux, because a node rejects them.
//   - Negative grace periods are errors. The API server changes them to 1.
//   - A UID becomes the name of directories, so it has at most 128 letters, digits, '-',
//     '_' and '.', and begins with a letter or digit.
//   - The port of a probe may be a name that no port of the container has: ports of an
//     image need no entry.
//   - Ephemeral containers may be part of the pod, as on a node with an API server; [References] rejects them in a static pod.
//   - Default sets no in-place resize policies, priority and service account.
package validation
