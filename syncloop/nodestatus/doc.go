// Package nodestatus decides what a node reports about itself to an API server (experimental). It
// builds the node's object for the registration, its status and its lease, and decides when to send
// them. It is pure: the measured facts and the state at the server are arguments.
//
//	start = start.Update(facts)                      // whether the agent is still in its start phase
//	n := nodestatus.Node(spec, status)               // registration
//	patch, err := nodestatus.Reconcile(existing, n)  // labels of an existing node
//	status := nodestatus.Status(previous, facts)     // every 10 s
//	send := nodestatus.ShouldSendStatus(sent, server, status, since) // on change, or every 5 minutes
//	events := nodestatus.Events(before, after)       // when the server shows a change
//	ips := nodestatus.HostIPs(node.Status.Addresses) // the host IPs in the status of pods
//	lease := nodestatus.Lease(previous, node, now)   // every 10 s
//
// # The contract
//
//   - The node is Ready if the runtime has answered within RuntimeTimeout, and the runtime and its
//     network are ready. Pressure conditions exist only if they were measured. Ready is the last
//     condition. The transition time changes only when the status of the condition changes.
//   - A node that is Ready at the server stays Ready during the start phase of its agent: until the
//     node was found ready once, or for StartTimeout.
//   - Capacity, addresses, endpoints and declared features are copied from the Facts; the package
//     adds none. Allocatable is never negative, and never more than the capacity.
//   - Images are the largest MaxImages, with at most MaxNames names each.
//   - A label that the node has set earlier and no longer sets is removed. Labels and taints of other
//     writers do not change.
//   - The renew time of a lease never decreases, even if the clock does.
package nodestatus
