// Package inmemory has volumes that have paths and no files (experimental). It is for
// runtimes without a file system, such as runtime/memory, and for simulations.
//
// It accepts the same volumes as package volumes, reads the same objects, and fails if they are
// missing. It does not check properties that need a disk: the type of a hostPath, the size of an
// emptyDir, and links in a subPath.
//
// A Volumes is a podsync.Volumes and a podsync.Files. Its methods may be called
// concurrently. It starts nothing and does no IO. Termination messages are empty, except
// the messages that WriteTerminationLog has stored. The only files for variables (fileKeyRef) are
// those that WriteVolumeFile has stored.
package inmemory
