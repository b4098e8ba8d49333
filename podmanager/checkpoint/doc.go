// Package checkpoint keeps terminal statuses of pods on disk for the next agent. It takes
// the place of an API server: a pod that was evicted, passed its deadline or ended by
// itself does not run again because the agent was restarted, even if the runtime has no
// records of it any more.
//
//	<root>/<uid>.json    the terminal status of one pod
//	<root>/.<uid>        one that is being written
//
// Containers keeps, in a directory of its own and in files of the same form, what has to be
// known of running containers: their probe results, and that one was told to end for its
// next attempt. Pods keeps, likewise, the pods that a program was given and that no other
// place has.
//
// # The contract
//
// New reads what is there. Consume hands each terminal status out once, to the first pod
// that has its UID, its name and its hash: a pod that was replaced under its UID has not
// ended. What a source itself says of a pod's end comes first. Package node saves the status of
// a rejected pod too, unless the pod is static or was rejected because of a drain.
//
// Save returns when the file is complete on disk and in its place; after a power failure
// there is the old file or the new one. Drop is for a UID that begins a new incarnation,
// and Remove for one that is not needed any more; package gc finds the latter with Pods. A Save that
// fails is not repeated here; package node does that.
//
// A file has at most MaxSize bytes beside its sum: a larger status is kept without its containers. At most
// MaxFiles are read. A file that is no terminal status, or that has changed since it was
// written, is reported by New. A damaged one is renamed to <uid>.json.damaged, at most 16 of
// them; others, and all files of Pods, are left in place. Who changes one by hand removes its
// last field, the sum. All access goes through an os.Root; links and special files are not opened.
// Methods may be called concurrently. Save, Drop and Remove of one UID wait for each other,
// and Remove asks, while no Save is under way, whether the pod is still gone.
package checkpoint
