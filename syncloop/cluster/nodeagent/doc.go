// Package nodeagent keeps a node's object and its lease at an API server (experimental). It registers
// the node, reports its status, renews the lease, and knows how other programs see the node.
//
//	agent, err := node.New(node.Config{Spec: spec, Facts: measure, Server: server})
//	...
//	go agent.Run(ctx)
//	agent.WaitForRegistration(ctx) // waits until the node is registered
//	agent.Node()     // labels and taints of today
//
// # The contract
//
//   - Registration is tried until it succeeds, after 0.1 s, doubling to 7 s. A node that
//     exists gets the labels of Config.Spec; its taints and everything of others stay.
//   - The Facts are measured every 10 s and at each Report. The status is sent if it has
//     changed, and every 5 minutes.
//   - The lease is renewed as soon as the node is registered, and every 10 s. No status
//     waits for the lease or the other way round.
//   - A node object that is deleted is registered again, once its deletion was seen by a
//     watch or a refused write. Another object under the node's name, with another UID, is
//     taken over, and Hooks.Replaced tells of it.
//   - The lease of another holder is taken over, too: Hooks.OtherHolder tells that a second
//     node may run under this name.
//   - The Recorder gets an event when the agent has registered first, and when a condition,
//     the boot or the schedulability of the node changes at the server.
//   - An error changes nothing of what is known: it is logged and tried again.
package nodeagent
