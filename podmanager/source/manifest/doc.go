// Package manifest turns files and URLs into static pods. A directory of manifests, a single file, or
// a URL becomes a source for the Mux of package source. Files hold YAML or JSON, any number of
// documents, each a Pod, a PodList or a List of pods. Defaults and the checks of a pod are those of
// package validation.
//
//	files, err := manifest.New(manifest.Config{Path: "/etc/podkeel/manifests", NodeName: "edge-1"})
//	mux, err := source.New(source.Config{Sources: map[string]source.Source{"file": files}})
//
// # Missing and broken files
//
// Nothing is concluded from an error. The last good version of each file stays in force
// until a successful listing lacks the file:
//
//	what is there now                    desired pods           counts as
//	a good version                       its pods               good
//	a bad or unreadable version          the last good one's    broken, reported once
//	... and there was no good one        none                   broken, snapshot incomplete
//	... but an earlier process kept one  that one's             broken, reported once
//	... which cannot be read             none                   broken, snapshot incomplete
//	empty, after it held a pod           the last good one's    broken, reported once
//	empty, and it never held a pod       none                   ignored, reported once
//	a link that leads nowhere            the last good one's    broken, reported once
//	a pipe, device, directory            none (or the last)     skipped, reported once
//	the file is not in the listing       none                   gone
//	the directory cannot be listed       as before              error, reported once
//	a directory without files            none                   valid, and empty
//
// Unknown fields, and all but the last of duplicate ones, are ignored as in the kubelet, and each is
// reported with its line for as long as it is there; with [Config.Strict] they are faults. A field
// that a newer version of the API has is a fault in any case.
//
// A file is good or bad as a whole: one bad document rejects all of its pods. "Never held a
// pod" means in this process, and with [Config.StateDir] in those before it. A List without
// items is a good version without pods. A path that could not be listed since the start
// delivers nothing, and the source does not count as seen.
//
// What stands now can be asked for (Faults, FaultOf), until the file is good or gone; what is
// ignored or skipped is no fault. The log and the reports tell when one begins and ends.
//
// # Bounds
//
// A file has at most 10 MiB, 200,000 values and 100 levels, with aliases and merge keys
// expanded; the check comes before the expansion. Its pods take at most 32 MiB of memory,
// those of all files 256 MiB ([Config.MaxMemory]). A directory has at most 10,000 names
// ([Config.MaxFiles]). A read takes at most five seconds ([Config.ReadTimeout]), and eight
// run at once. What exceeds a bound is an error.
//
// # A server
//
// A [URLSource] is a manifest that a server has. An answer with status 200 is read as a file is;
// an empty one, an error page or a bad document keeps the last good answer, and so does every
// other status, a timeout, or a body beyond the bounds after decompression. A list without pods
// says that there are none. A server that has never answered is a source that was not heard.
// With [URLConfig.StateDir] the last good answer outlives the process. Pods have no toleration
// for NoExecute, and the URL, not the node, is in their UID, as in the kubelet. Experimental.
//
// # Scans
//
// Scans come after changes: a few milliseconds after a single one, a tenth of a second
// after several, one a second while they go on, and once in a period. Files are hashed at
// every scan and parsed when the hash is new. Rename files into the directory: a file that
// is written in place may be read half written.
package manifest
