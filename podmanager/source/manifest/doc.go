// Package manifest turns files and URLs into static pods. A directory of manifests, a single file, or a URL becomes a
// source for the Mux of package source. Files hold YAML or JSON, any number of documents, each a Pod, a PodList or a
// List of pods. Package validation has the defaults and the checks of a pod.
//
//	files, err := manifest.New(manifest.Config{Path: "/etc/podkeel/manifests", NodeName: "edge-1"})
//	mux, err := source.New(source.Config{Sources: map[string]source.Source{"file": files}})
//
// [Config.NodeName] becomes the spec.nodeName of each pod. It must equal the Name of the node's Config, because a node
// rejects the pods of another node.
//
// # Missing and broken files
//
// An error removes no pod. The last good version of each file stays in use until a successful listing lacks the file:
//
//	current content of the path          desired pods           counts as
//	a good version                       its pods               good
//	a bad or unreadable version          the last good one's    broken, reported once
//	... without a good version           none                   broken, snapshot incomplete
//	... saved by an earlier process      the saved one's        broken, reported once
//	... saved, and cannot be read        none                   broken, snapshot incomplete
//	empty, after it held a pod           the last good one's    broken, reported once
//	empty, and it never held a pod       none                   ignored, reported once
//	a link to a missing file             the last good one's    broken, reported once
//	a pipe, device, directory            none (or the last)     skipped, reported once
//	the file is not in the listing       none                   removed
//	the directory cannot be listed       as before              error, reported once
//	a directory without files            none                   valid, and empty
//
// Unknown fields are ignored as in the kubelet, and of duplicate fields the last one is used. Each is reported with its
// line. With [Config.Strict] they are faults. A field of a newer version of the API is always a fault.
//
// A file is good or bad as a whole: one bad document rejects all of its pods. "Never held a pod" refers to this
// process, and with [Config.StateDir] also to earlier ones. A List without items is a good version without pods. If the
// path could not be listed since the start, the source delivers nothing and does not count as seen.
//
// Faults and FaultOf return the active faults, until the file is good or removed. An ignored or skipped file is no
// fault. The log and the reports say when a fault begins and when it is resolved.
//
// A changed manifest without metadata.uid is another pod: its UID contains the content. A manifest with a UID of its own
// is the same pod, whose cpu and memory the node resizes.
//
// # Bounds
//
// A file has at most 10 MiB, 200,000 values and 100 levels, with aliases and merge keys expanded. These bounds are
// checked before the expansion. The pods of a file use at most 32 MiB of memory, and the pods of all files 256 MiB
// ([Config.MaxMemory]). A directory has at most 10,000 names ([Config.MaxFiles]). A read takes at most five seconds
// ([Config.ReadTimeout]), and eight run at once. Exceeding a bound is an error. A listing or a read that took longer is used
// by the next scan, so that a slow directory is read at all. It may then be older than the newest change, until the next
// scan of all files.
//
// # Manifests from a server
//
// A [URLSource] fetches a manifest from a server. An answer with status 200 is parsed like a file. An empty answer, an
// error page or a bad document keeps the last good answer; another status, a timeout, or a body that exceeds a bound
// after decompression does too. A list without pods removes all pods. A source whose server never answered does not
// count as seen. With [URLConfig.StateDir] the last good answer outlives the process. The pods have no toleration for
// NoExecute, and their UID contains the URL instead of the node, as in the kubelet. Experimental.
//
// # Scans
//
// A scan follows each change: a few milliseconds after a single change, a tenth of a second after several, and once a
// second while changes continue. On Linux it lists the directory and reads the files that inotify has named, links, and
// files whose last read failed. A scan of all files runs once in each period, and at once after lost events, after a
// change of the directory, of the link to it or of a ConfigMap volume, and on other systems after each change. So a
// change without an event is found too: a change through a hard link, a mapping in memory, a mount, or another host. If
// the path is a link, the removal of the directory behind the link has no event either. Changes in a new directory in its
// place may wait for the end of the period. A file that is read is hashed, and parsed if the hash is new. The
// modification time has no effect.
//
// Write a manifest elsewhere and rename it into the directory: a file that is written in place may be read when it is
// half written.
package manifest
