// Package volume decides about the volumes of pods: which can be had, what
// files they hold, and where a container sees them. It is pure; the packages
// volumes and volumes/inmemory do what it says.
//
// # What can be had
//
// emptyDir (of disk and memory), hostPath, configMap, secret, downwardAPI, and
// projected of the latter three. Problems names everything else, before a pod is
// admitted, and what would lead out of a volume: no path that is written below a
// volume has "..", begins with "/" or with the two dots that are ours.
//
// Of two files at one path the later source's is written.
//
// # Bounds
//
// The files of one volume have at most MaxBytes, and there are at most MaxFiles.
//
// # Statements kept
//
// F10 (no name becomes a path that leads elsewhere), F14, F28.
//
// # Differences from the kubelet
//
//   - "..", ":" and a second mount at the same path are problems here, too: not
//     every pod has passed an API server.
//   - A file at a path below another file is an error that says so.
//   - recursiveReadOnly: the adapter of a runtime is told whether it is wanted or
//     insisted on, and answers for itself.
package volume
