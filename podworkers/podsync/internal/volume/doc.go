// Package volume decides which volumes of a pod are supported, which files they have, and where a
// container mounts them. It is pure. Packages volumes and volumes/inmemory carry out its decisions.
//
// Supported are emptyDir (on disk, in memory and in huge pages), hostPath, configMap, secret,
// downwardAPI, and projected volumes of the last three. Claims are supported if they are bound to a
// path of the host: package find replaces them by a hostPath. The runtime mounts image volumes, and
// this package does not know whether it can. Problems reports all other kinds before a pod is
// admitted. It also reports paths that would lead out of a volume: no path may have "..", or begin
// with "/" or two dots. If two sources have a file at the same path, the later source wins. The files
// of a volume have at most MaxBytes together, and there are at most MaxFiles.
package volume
