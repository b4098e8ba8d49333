// Package patch decides what a node writes to an API server, and what the answer means. It
// is pure: the state at the server is an argument, patches are bytes, times are durations.
//
//	PodStatus        the patch of a pod's status
//	WithVersion      that patch, for one version of the pod alone
//	NodeStatus       the patch of the node's status
//	OnlyNodeFieldsDiffer   whether a newer state of a pod has news for the node
//	IsRemoved          whether the server removes a pod, which is not to be disturbed
//	CanDelete      whether the node may remove a pod from the server
//	AnswerToPatch          what the answer to a patch means
//	AnswerToDelete         what the answer to a deletion means
//	AnswerToGet            what a pod that was read after a conflict means
//
// # The contract
//
//   - A patch of a pod's status needs no read before it: it is a strategic merge patch with
//     the UID as precondition, and writes only what the node owns. Conditions of others,
//     claims of resources, the nominated node and the QoS class are never in it.
//   - If the state at the server is known, the patch has the differences only, and is nil if
//     there are none. If it is not known, the patch has everything; applied to any state it
//     has the same result, but for keys of resources that the node has removed.
//   - A field that is empty is removed. A list of container statuses is replaced as a whole,
//     and so are IP addresses. Resources go key by key: a server may drop a map that is
//     replaced.
//   - The observed generation is never lowered. A DisruptionTarget goes only with the patch
//     that makes the phase terminal.
//   - Conditions of a node merge by type: those that are not in the status stay. Capacities
//     of others stay. Addresses are replaced.
//   - The final delete is due only for the UID that the node has run, after the server has
//     shown a terminal phase of it and a deletion timestamp, or a deletion with force, and when
//     the node has released everything.
//
// The two-way merge of apimachinery compares all of two objects. It would write fields of others as
// they were when the node read them, so the fields of the node are written by hand here.
package patch
