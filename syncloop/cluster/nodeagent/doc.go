// Package nodeagent maintains a node's object and its lease at an API server (experimental). It registers
// the node, reports its status, renews the lease, and follows changes that other programs make to the object.
//
//	agent, err := nodeagent.New(nodeagent.Config{Spec: spec, Facts: measure, Server: server})
//	...
//	go agent.Run(ctx)
//	agent.WaitForRegistration(ctx)
//	agent.Node() // the current labels and taints
//
// # The contract
//
//   - The agent retries the registration until it succeeds, with a backoff from 0.1 s to 7 s. An existing
//     Node object gets the labels of Config.Spec. It keeps its own taints, so the Taints of Config.Spec have
//     no effect on it. The fields of other writers stay too.
//   - The agent measures the Facts every 10 s and after each RequestStatusUpdate, and more often while the
//     node is not ready. It sends the status if it has changed, and about every 5 minutes otherwise.
//   - The agent renews the lease after the registration and every 10 s. Status and lease have separate
//     loops, so that neither waits for the other.
//   - If a watch or a refused write shows that the Node object was deleted, the agent registers the node
//     again. If another object has the node's name, the agent takes it over and calls Hooks.Replaced.
//   - The agent also takes over the lease of another holder. It calls Hooks.OtherHolder, because a second
//     node may run under the same name.
//   - The Recorder gets an event after the first registration, and when a condition, the boot ID or the
//     schedulability of the node changes.
//   - The agent logs an error of the server and retries. The known Node object and lease stay, with two
//     exceptions. If a status write returns NotFound, the agent forgets the Node object and registers the
//     node again. If the server refuses a renewal, the agent reads the lease before the next renewal.
package nodeagent
