// Package nodestatus decides what a node says of itself to an API server (experimental). It makes the
// node's object at registration, its status and its lease, and decides when to send them. It is pure:
// what was measured and what the server has are arguments.
//
//	start = start.After(facts)                       // whether the agent still begins
//	n := nodestatus.Node(spec, status)               // registration
//	patch, err := nodestatus.Reconcile(existing, n)  // labels of a node that exists
//	status := nodestatus.Status(previous, facts)     // every 10 s
//	send := nodestatus.Due(sent, server, status, since)     // on change, or every 5 minutes
//	events := nodestatus.Events(before, after)       // when the server shows a change
//	ips := nodestatus.HostIPs(node.Status.Addresses) // what pods are told of it
//	lease := nodestatus.Lease(previous, node, now)   // every 10 s
//
// # The contract
//
//   - The node is Ready if nothing is wrong: the runtime has answered within RuntimeTimeout,
//     and it and its network are ready. Conditions of pressure are there only if they were
//     measured, and Ready is the last one. The time of a transition changes with the value
//     only.
//   - A node that the server has as ready stays so while its agent begins: until the node was
//     found ready once, or for StartTimeout.
//   - Capacity, addresses, endpoints and declared features are those of the Facts; nothing
//     is promised that the caller does not name. Allocatable is never negative, and never
//     more than the capacity.
//   - Images are the largest MaxImages, with at most MaxNames names each.
//   - A label that the node has set and sets no more is removed; labels and taints of others
//     stay.
//   - The time of a renewal only grows, whatever the clock does.
package nodestatus
