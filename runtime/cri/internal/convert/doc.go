// Package convert turns Podkeel's words for pods into those of CRI, and back.
// It looks at values only. What CRI says is not trusted: whatever is missing or
// unknown becomes the zero value, an unknown state, or a record that is skipped
// (F62), never a panic.
//
// # What is written on records
//
// Labels and annotations of the request come first, ours over them, so that a
// pod cannot pass for another's. Labels are what lists are filtered by: the
// kubelet's four, from which tools know pods and containers, and the owner.
// Annotations are what CRI has no field for: the incarnation, the image as it
// was asked for, which older runtimes drop, and of a sandbox what has to be
// said again for each of its containers.
//
// # What CRI has no word for
//
// The number of processes of a container goes as pids.max, which cgroups of
// version 1 do not know. A field of a request that no function here reads is a
// failure of the tests.
package convert
