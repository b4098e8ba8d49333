// Package inmemory has volumes without a disk: they have paths and rules, but no files (experimental).
// It is for runtimes without a file system, such as the one in memory, and for simulations.
//
// It accepts what package volumes accepts, looks up the same objects, and fails where they
// are missing. It does not check what only a disk can tell: the type of a hostPath, the
// size of an emptyDir, links in a subPath.
//
// A Volumes is a podsync.Volumes and a podsync.Files. Its methods may be called
// concurrently. It starts nothing and does no IO. Termination messages are empty, except
// those that were given to WriteTerminationLog. The only files for
// variables (fileKeyRef) are written by WriteVolumeFile.
package inmemory
