// Package evictor measures a node and evicts its pods as package eviction decides (experimental).
//
//	e, err := evictor.New(evictor.Config{Policy: policy, Signals: signals, Node: node})
//	err = e.Run(ctx) // blocks
//
// One pass follows another after Policy.Period, or earlier if the decision says so. A pass measures the signals of
// the node. It measures the usage of pods only if a pod has a limit of local storage, or if a pod has to be evicted.
// So a node without pressure reads a few files in each pass.
//
// The evictor never waits for a victim. The caller calls PodReclaimed when the containers of a pod have stopped and
// its volumes and cgroup are removed, and the next pass then follows at once. Reclaim runs within a pass, with a time limit.
//
// Pressure returns the node conditions of the last pass, for admission and for the status of the node. A panic of
// the caller's code fails one call.
package evictor
