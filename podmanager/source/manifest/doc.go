// Package manifest turns files into static pods: a directory of manifests, or a
// single file, becomes a source for the Mux of package source. YAML and JSON, any
// number of documents in a file, each a Pod, a PodList or a List of pods.
//
//	files, err := manifest.New(manifest.Config{Path: "/etc/podkeel/manifests", NodeName: "edge-1"})
//	mux, err := source.New(source.Config{Sources: map[string]source.Source{"file": files}})
//
// [Decode], [Default] and [Validate] serve those who get their pods elsewhere.
//
// # The rule of absence
//
// Nothing is ever concluded from an error (I47). For every file the last good
// version stays in force until a successful listing lacks the file:
//
//	what is there now                    what is wanted         counts as
//	a good version                       its pods               good
//	a bad or unreadable version          the last good one's    broken, told once
//	... and there never was a good one   nothing                broken, snapshot incomplete
//	empty, after it held a pod           the last good one's    broken, told once
//	empty, and it never held a pod       nothing                ignored, told once
//	a link that leads nowhere            the last good one's    broken, told once
//	a pipe, device, directory            nothing (or the last)  skipped, told once
//	the file is not in the listing       nothing                gone
//	the directory cannot be listed       everything as it was   error, told once
//	a directory without files            nothing                valid, and empty
//
// A file is good or bad as a whole: one bad document rejects all of its pods.
// "Never held a pod" means in this process: a file that was emptied while no
// agent ran is an empty file. An explicit List without items is a good version
// without pods, which is how a file says that it wants none.
//
// A path that could not be listed since the start has not been heard: nothing is
// handed over, and the source does not count as seen.
//
// # Bounds
//
// A file has at most 10 MiB, 200,000 values and 100 levels, all with aliases and merge
// keys written out, which is found before anything is; its pods take at most 32 MiB
// of memory, and those of all files 256 MiB ([Config.MaxMemory]). A
// directory has at most 10,000 names ([Config.MaxFiles]); a read takes at most five seconds
// ([Config.ReadTimeout]), and eight are under way at once. Beyond a bound it is
// an error, with the consequences above. The files of a directory are hashed at every
// scan and parsed only when the hash is new. Scans come after changes, a few
// milliseconds after a single one and a tenth of a second after several, at most
// about ten a second and one a second while they go on, and once in a period. A
// file ought to be renamed into the directory: one that is written in place may
// be read half written, if its writer pauses.
//
// # Statements kept
//
//   - CF-10 to CF-13: names, UIDs, annotations, toleration, defaults, validation,
//     and no reference to objects of an API, but to ConfigMaps and Secrets with
//     Config.Objects: where those come from files there is somebody to ask.
//   - CF-14, CF-15: all files of a directory but hidden ones, whatever their
//     names end in; not recursive.
//   - F1 to F14 and F28 of bad manifests, F29 to F36 and F41 of bad directories:
//     tests carry the numbers.
//
// # Differences from the kubelet
//
//   - The rule of absence. There, a file that becomes invalid, and a directory
//     that vanishes, removes running pods (CF-14).
//   - A UID is the hash of the document as it was written, in canonical form, not
//     of the Go type it was decoded into, so no upgrade of a library restarts
//     anything (kubernetes/kubernetes#67537, #104712). The order and style of
//     writing do not matter. The path in it is absolute.
//   - Several documents and Lists in a file, and all faults of a file at once,
//     with lines: those of the text, unknown fields and values of a wrong kind,
//     and what is wrong with the pods.
//   - Unknown and duplicate fields are errors, as a half-understood pod is none.
//   - A status in a manifest is dropped; a deletion timestamp is an error, since
//     the pod of a file ends when the file goes.
//   - Negative grace periods are errors. The API server takes them for 1.
//   - Of two files with one pod the first by path wins, also if the other was
//     there before, so that a restart changes nothing.
//   - Temporary files of editors are ignored, not only hidden ones.
//   - Fields for schedulers and API servers are read and not validated. Defaults
//     are those of the core pod, without in-place resize policies.
package manifest
