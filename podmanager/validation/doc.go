// Package validation completes and checks a pod as the API server would, and says everything that is
// wrong. It is for programs that get pods from somewhere else than an API server, and for tests of
// such programs.
//
//	validation.Default(pod)
//	errs := validation.Validate(pod)
//	errs = append(errs, validation.References(pod, validation.Available{})...) // a static pod
//	return errs.ToAggregate()
//
// An error is a [field.Error] of apimachinery: the path of the field, such as
// spec.containers[0].image, the value, and what was expected. All errors are returned at
// once, in the order of the fields that are checked, and maps in the order of their keys.
//
// The package is pure: its functions depend on their arguments alone and may be called
// from anywhere. [Default] changes the pod that it gets, the others change nothing. No
// function panics, whatever the pod holds.
//
// # Scope
//
// [ValidateAccepted] checks what a node can get wrong by running the pod: names that become
// files or host names, paths that lead out of a volume, numbers that overflow, references
// within the pod, unions with no or several members, probes, hooks, resources and ports.
// [Validate] also checks, for a new pod, what an API server rejects in a field that a node
// acts on, such as a preStop hook that sleeps for longer than the grace period. Not checked
// is what only a scheduler or an API server reads: affinity to pods, preferences, topology,
// finalizers, owner references, and everything of the status.
//
// # Differences from the API server
//
//   - Pods of Windows are not checked for fields of Linux, since a node refuses them.
//   - Negative grace periods are errors. The API server takes them for 1.
//   - A UID becomes the name of directories, so it has at most 128 letters, digits, '-',
//     '_' and '.', and begins with a letter or digit.
//   - The port of a probe may be a name that no port of the container has: ports of an
//     image need no entry.
//   - Ephemeral containers may be part of the pod, as on a node that an API server
//     feeds; [References] rejects them in a static pod.
//   - Defaults are those of the core pod, without in-place resize policies, priority and
//     service account.
package validation
