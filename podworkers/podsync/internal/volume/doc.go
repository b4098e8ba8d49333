// Package volume decides about the volumes of pods: which are supported, what files they
// hold, and where a container sees them. It is pure; packages volumes and volumes/inmemory
// perform its decisions.
//
// emptyDir (on disk, in memory and in huge pages), hostPath, configMap, secret, downwardAPI and projected
// volumes of the latter three are supported, and claims that are bound to a path of the
// host, for which package find puts a hostPath. The runtime mounts image volumes; whether it can
// is not decided here. Problems names everything else before a pod is
// admitted, and paths that would lead out of a volume: no path has "..", begins with "/" or
// with two dots. Of two files at one path the one of the later source is written. The files
// of a volume have at most MaxBytes, and there are at most MaxFiles.
package volume
