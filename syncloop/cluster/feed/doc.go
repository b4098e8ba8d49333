// Package feed follows collections of objects at an API server (experimental). It also publishes the pods of the
// node to a source.Mux.
//
// A [Follower] keeps the newest known state of one collection: it watches, lists if necessary, and pauses
// after failures. [Pods] is a source.Source over a Follower of the pods that are bound to the node.
//
//	nodes, err := feed.New(feed.Config[*v1.Node]{Feed: server.NodeFeed(), Contact: c})
//	pods, err := feed.NewPods(feed.PodsConfig{Feed: server.PodFeed(), Contact: c, Gate: nodes.WaitForObject})
//	mux, err := source.New(source.Config{Sources: map[string]source.Source{"api": pods}})
//
// # The contract
//
//   - The collection is always a state that the server had. Before the first complete state there is none.
//     An error, a lost history or a broken stream changes nothing in it.
//   - Objects are shared, so callers must not change them. An unchanged object keeps its pointer, even after a list.
//   - Pods publishes all pods first, and after each list. In between it publishes single changes to a sink
//     that is a source.ChangeSink, as the Mux's sink is. So a change costs the same among 10,000 pods as
//     among 100.
//   - Changed is called after a change, perhaps once for several changes.
//   - Pauses after failures grow from 0.8 to 30 seconds. If the server was unreachable or denied access (401,
//     403, 503), the end of an outage also ends the pause; see package contact. Other pauses, for example
//     after 429 or 500, last their full time.
//   - Pods publishes nothing before Gate has returned. Admission needs the Node object, so Gate waits for it.
//   - Pods does not publish a change that only this node's own status write has made. The published pod then
//     keeps its old status. Only this package can recognize this echo, because it knows the versions of the
//     writes. The Mux computes UPDATE, DELETE or RECONCILE for every published pod.
package feed
