// Package logfiles manages the files into which a runtime writes the output of containers
// (experimental).
//
//	<root>/<namespace>_<name>_<uid>/<container>/<attempt>.log
//	                                            <attempt>.log.<when>[.gz]   rotated
//
// It rotates logs and removes what is no longer needed. Package gc and its policy decide
// what is too large, too much, or may go.
//
// # The contract
//
// Config.Links is a directory with a link to the log of each container, by names that those who
// collect logs know from kubelets.
//
// With Config.Records a Dir shares its root with other agents. SetUp makes a directory that did not
// exist. It writes a record before, and marks the record as made after. The Dir reads, rotates and
// removes only directories with a record. It writes the record of a directory without one if
// Config.Ran says that the runtime has run the pod for this node. Where another program has the
// directory of a pod already, SetUp makes <namespace>_<name>_<uid>.<random>. Without Records
// everything in the root is the Dir's. Everything in Config.OwnRoots is the Dir's in any case.
//
// A kubelet needs a root of its own: it removes the directories of pods that it does not know.
//
// Apart from records a Dir remembers nothing; a missing directory counts as empty. All access goes through an os.Root:
// nothing beyond the directory is touched, and links are not followed. A name of another
// form is left alone. Directories are read in pieces, up to MaxEntries names. Methods may
// be called concurrently; Rotate once at a time for each log.
//
// Remove renames the directories of a pod to <root>/.trash before it removes anything, and
// asks right before, under the lock that SetUp takes, whether the pod is gone. It crosses
// no mount. Sweep continues a removal that was cut short; in a shared root Remove does.
//
// # Rotation
//
// A crash at any point loses no output, and the next call repairs what it leaves:
//
//	0.log                      too large
//	0.log.20260101-120000      renamed; the runtime still writes to it
//	0.log                      made by the runtime, which was told to reopen it
//	0.log.20260101-115000.tmp  the one before, while it is compressed
//	0.log.20260101-115000.gz   when that is complete and on disk
//
// A crash after the renaming and before the reopening leaves no 0.log: the next call has it reopened. If the
// runtime cannot be told, a hard link gives the name back, which replaces no file. The file
// that was rotated last is compressed with the next rotation, because its last lines may
// still be on their way.
//
// A runtime follows links when it opens a log. SetUp removes a link in the place of a directory of a pod
// or of its containers; in a shared root the pod gets another directory instead. A container that can
// write to the directory of its logs, which takes a hostPath, can redirect it.
package logfiles
