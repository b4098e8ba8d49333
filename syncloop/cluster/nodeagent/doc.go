// Package nodeagent maintains a node's object and its lease at an API server (experimental). It registers
// the node, reports its status, renews the lease, and follows changes that other programs make to the object.
//
//	agent, err := node.New(node.Config{Spec: spec, Facts: measure, Server: server})
//	...
//	go agent.Run(ctx)
//	agent.WaitForRegistration(ctx)
//	agent.Node() // the current labels and taints
//
// # The contract
//
//   - The agent retries the registration until it succeeds, with a backoff from 0.1 s to 7 s. An existing
//     node gets the labels of Config.Spec. Its taints and the fields of other writers stay.
//   - The agent measures the Facts every 10 s and after each Report. It sends the status if it has
//     changed, and at least every 5 minutes.
//   - The agent renews the lease after the registration and every 10 s. Status and lease have separate
//     loops, so that neither waits for the other.
//   - If a watch or a refused write shows that the Node object was deleted, the agent registers the node
//     again. If another object has the node's name, the agent takes it over and calls Hooks.Replaced.
//   - The agent also takes over the lease of another holder. It calls Hooks.OtherHolder, because a second
//     node may run under the same name.
//   - The Recorder gets an event after the first registration, and when a condition, the boot ID or the
//     schedulability of the node changes.
//   - An error of the server changes no known state. The agent logs it and retries.
package nodeagent
