// Package logfiles manages the files to which a runtime writes the output of containers
// (experimental).
//
//	<root>/<namespace>_<name>_<uid>/<container>/<attempt>.log
//	                                            <attempt>.log.<when>[.gz]   rotated
//
// It rotates logs and removes old ones. Package gc and its policy decide which logs are too large
// and which may be removed.
//
// # The contract
//
// Config.Links is a directory with a link to the log of each container. The links have the names
// that log collectors expect from kubelets.
//
// With Config.Records a Dir shares its root with other agents. SetUp creates a directory that did
// not exist. It writes a record before, and marks the record as made afterwards. The Dir reads,
// rotates and removes only directories with a record. It writes the record of an existing directory
// if Config.Ran returns true: the runtime has run the pod for this node. If another program already
// has a directory for a pod, SetUp creates <namespace>_<name>_<uid>.<random>. Without Records
// everything in the root belongs to the Dir. Everything in Config.OwnRoots belongs to the Dir in
// any case.
//
// A kubelet needs a root of its own: it removes the directories of pods that it does not know.
//
// Apart from records a Dir has no state; a missing directory counts as empty. All access uses an
// os.Root: nothing outside the directory is changed, and links are not followed. A file with any
// other name is ignored. Directories are read in parts, up to MaxEntries names. Methods may be
// called concurrently, but Rotate only once at a time for each log.
//
// Remove renames the directories of a pod to <root>/.trash before it removes anything. Right
// before, under the lock of SetUp, it checks whether the pod is gone. It does not remove files of
// another mount. Sweep continues an interrupted removal; in a shared root Remove does.
//
// # Rotation
//
// A crash at any point loses no output. The next call repairs the state:
//
//	0.log                      too large
//	0.log.20260101-120000      renamed; the runtime still writes to it
//	0.log                      created by the runtime when it reopened the log
//	0.log.20260101-115000.tmp  the former rotated file, while it is compressed
//	0.log.20260101-115000.gz   the compressed file, complete and synced
//
// After a crash between the rename and the reopening there is no 0.log: the next call lets the
// runtime reopen it. If the reopening fails, a hard link restores the name, which replaces no file.
// The newest rotated file is compressed in the next rotation, because the runtime may still append
// its last lines.
//
// A runtime follows links when it opens a log. SetUp removes a link with the name of a pod's
// directory or of a container's directory in it; in a shared root the pod gets another directory
// instead. A container with a hostPath mount of its log directory can redirect the log.
package logfiles
