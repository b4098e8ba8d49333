// Package logfiles knows the files into which a runtime writes what containers
// print.
//
//	<root>/<namespace>_<name>_<uid>/<container>/<attempt>.log
//	                                            <attempt>.log.<when>[.gz]   rotated
//
// It puts away what has become too large, and removes what is of no use any more.
// What is too large, too much, or may go is decided by others: package gc and its
// policy.
//
// # Contract
//
// A Dir remembers nothing; what is not there is empty. All is
// done through an os.Root: nothing beyond the directory is touched, and links in
// it are neither followed nor taken for directories of pods, nor for logs. A name that
// is not of the shape above is nobody's and stays. Directories are read in pieces, up
// to MaxEntries names. Methods may be called concurrently; Rotate once for each log.
//
// Remove renames the directories of a pod to <root>/.trash before it removes anything,
// and asks right before, under the lock that SetUp takes, whether the pod is gone. It
// crosses no mount. Sweep goes on with what was cut short.
//
// # Rotation
//
// A crash at any point loses nothing of what was printed, and what it leaves is put
// right by the next call:
//
//	0.log                      too large
//	0.log.20260101-120000      renamed; the runtime still writes to it
//	0.log                      made by the runtime, which was told to reopen it
//	0.log.20260101-115000.tmp  the one before, while it is compressed
//	0.log.20260101-115000.gz   when that is whole and on the disk
//
// Between the first two lines a crash leaves no log: the next call has it reopened. If
// the runtime cannot be told, the name is given back by a hard link, which takes the
// place of no file that the runtime may have made after all. The file that was rotated
// last is compressed with the next rotation, as its last lines may still be on their way
// until then.
//
// # Statements kept
//
// GC-8: the UID is in the name of the directory. GC-9 and KC-17: what was rotated
// goes with the attempt. KC-2: the number after the highest N of N.log. F95: there are
// no more files of an attempt than there may be, each about as large as it may be.
//
// # Differences from the kubelet
//
//   - There are no links to logs by the names of containers, and so none that are
//     dead (GC-9).
//   - Of an attempt that was rotated away the files that are left count (KC-2).
//   - What was rotated before is compressed after the log was, so that this does not
//     wait; and a compression that fails does not keep the log from being rotated.
//   - A log is not put back over a file that the runtime has made.
//
// # What it cannot do
//
// The runtime follows links when it opens a log. Whoever can write to the directory
// of a container's logs, which a container can only by a hostPath, can have it write
// elsewhere.
package logfiles
