// Package patch decides what a node writes to an API server, and what an answer means. It is pure: the
// state at the server is an argument, patches are bytes, and times are durations.
//
//	PodStatus             the patch of a pod's status
//	WithVersion           that patch, for one version of the pod only
//	NodeStatus            the patch of the node's status
//	OnlyNodeFieldsDiffer  whether a new state of a pod differs only in fields that the node writes
//	IsBeingRemoved        whether the server is removing a pod, so that no status may be written
//	CanDelete             whether the node may delete a pod at the server
//	AnswerToPatch         the meaning of the answer to a patch
//	AnswerToDelete        the meaning of the answer to a deletion
//	AnswerToGet           the meaning of a pod that was read after a conflict
//
// # The contract
//
//   - A patch of a pod's status needs no read before it: it is a strategic merge patch with the UID as
//     precondition, and has only fields that the node owns. It never has conditions of other writers,
//     resource claims, the nominated node or the QoS class.
//   - If the state at the server is known, the patch has only the differences, and is nil if there are
//     none. If it is not known, the patch has all fields. Applied to any state it has the same result,
//     except for keys of resources that the node has removed.
//   - An empty field is removed. A list of container statuses is replaced as a whole, and so are IP
//     addresses. Resources are changed key by key, because a server may drop a map that is replaced.
//   - The observed generation never decreases. A DisruptionTarget condition is sent only with the patch
//     that makes the phase terminal.
//   - Conditions of a node are merged by type: missing ones do not change. Capacities of other writers
//     do not change. Addresses are replaced.
//   - The final delete is allowed only for the UID that the node has run. The server must have shown a
//     terminal phase and a deletion timestamp, or a deletion with force, and the node must have released
//     all resources of the pod.
//
// The two-way merge of apimachinery compares two whole objects. It would write fields of other writers as
// the node has read them, so this package writes the fields of the node explicitly.
package patch
