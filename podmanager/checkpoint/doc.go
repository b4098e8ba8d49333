// Package checkpoint stores terminal statuses of pods on disk for the next agent. It replaces an
// API server: a pod that was evicted, exceeded its deadline or completed does not run again after a
// restart of the agent, even if the runtime has no records of it any longer.
//
//	<root>/<uid>.json    the terminal status of one pod
//	<root>/.<uid>        a file that is being written
//
// Containers stores, in another directory and in files of the same form, what a later agent must
// know about running containers: their probe results, and that a container is being stopped to be
// replaced by its next attempt. Pods stores, in the same way, the pods that a program was given and
// that are stored nowhere else. Resources stores the allocated resources of pods.
//
// # The contract
//
// New reads the files. Consume returns each terminal status once, to the first pod that has its
// UID, its name and its hash: a pod that was replaced under its UID is another pod. A terminal
// status from the pod's source has precedence. Package node also saves the status of a rejected
// pod, unless the pod is static or was rejected because of a drain.
//
// Save returns when the file is complete on disk: its content was synced before it got its name, and
// the directory was synced after that. After a power failure there is the old file or the new one,
// and after a Save that returned nil the new one. A file that a Dir or Pods has removed with a nil
// error stays away. A file that Containers or Resources has removed may come back after a power
// failure. It is removed again, unless its UID is then used again. The promise needs a disk that does
// not lose what it reports as written. The owner file (cri.OwnerFile), the last good manifests
// (package manifest) and the records of log directories (package logfiles) are written in the same
// way. Volumes and logs are not synced.
//
// # Pods of the same name
//
// A pod that is deleted and applied again is another pod only if it has another UID. Package node
// removes the files of a deleted pod about a second after its containers. If the agent restarts
// before that, the next agent cannot distinguish a pod of the same UID from the deleted one: a job
// that had completed stays completed. Pods.UIDForName gives each pod of a name a UID of its own.
//
// Drop is for a UID that begins a new incarnation, and Remove for a file that is not
// needed any longer; package gc finds those with Pods. A failed Save is not retried here; package
// node does that.
//
// A file has at most MaxSize bytes beside its checksum: a larger status is stored without its
// containers. At most MaxFiles are read. New reports a file that has no terminal status, or that
// has changed since it was written. A damaged file is renamed to <uid>.json.damaged, at most 16 of
// them; others, and all files of Pods, stay in place. If you edit a file by hand, remove its last
// field, the checksum. All access uses an os.Root; links and special files are not opened. Methods
// may be called concurrently. Save, Drop and Remove of one UID wait for each other, and Remove
// calls its gone function while no Save is running.
package checkpoint
