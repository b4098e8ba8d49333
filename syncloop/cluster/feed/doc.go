// Package feed follows objects at an API server, and hands the pods of the node to a source.Mux
// (experimental).
//
// A [Follower] keeps one collection as the server last showed it: it watches, lists where it
// must, and waits after failures. [Pods] is a source.Source over a Follower of the pods that
// are bound to the node.
//
//	nodes, err := feed.New(feed.Config[*v1.Node]{Feed: server.NodeFeed(), Contact: c})
//	pods, err := feed.NewPods(feed.PodsConfig{Feed: server.PodFeed(), Contact: c, Gate: nodes.WaitForObject})
//	mux, err := source.New(source.Config{Sources: map[string]source.Source{"api": pods}})
//
// # The contract
//
//   - The collection is always a state that the server had. Before the first complete state
//     there is none; an error, a lost history or a broken stream changes nothing in it.
//   - Objects are shared and read only. One that has not changed keeps its pointer, also when
//     the whole state was read again.
//   - Pods hands over all pods at first and after the state was read again. After that it
//     hands over each change by itself, to a sink that is a source.ChangeSink, as the Mux's
//     is: a change costs the same among 10,000 pods as among 100.
//   - Changed is called after a change, and perhaps once for several.
//   - Pauses after failures grow from 0.8 to 30 seconds. After an outage the first answer that
//     any loop gets ends them; see package contact.
//   - Pods hands over nothing before Gate has returned. Node admission needs the node's
//     object, so Gate waits until the server has shown it once.
//   - A change that this node's own status write has made is not handed over. The pod is then
//     still the one of before, with its old status. Only this package judges that echo, as it
//     alone knows the versions of the writes: the Mux calls each pod that it gets an UPDATE, a
//     DELETE, a RECONCILE or nothing, whatever has made the change.
package feed
