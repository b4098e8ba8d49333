// Package inmemory has volumes that exist in memory only: paths and rules, and no
// disk. It is for runtimes that have no file system, as that in memory, and for
// tests of whole nodes, which it leaves as repeatable as they are.
//
// It accepts what package volumes accepts, looks up the same objects, and fails
// where they are missing. What only a disk can tell is taken for granted: the
// type of a hostPath, the size of an emptyDir, links in a subPath.
//
// # Contract
//
// A Volumes is a podsync.Volumes and a podsync.Files. Its methods may be called
// concurrently. It starts nothing and does no IO. Termination logs are empty but
// for those that were given to WriteTerminationLog.
package inmemory
