// Package logfiles knows the files into which a runtime writes what containers
// print.
//
//	<root>/<namespace>_<name>_<uid>/<container>/<attempt>.log
//	                                            <attempt>.log.<when>[.gz]   rotated
//
// It reads their names, never what is in them, and removes what is of no use any
// more. What may go is decided by others: package gc.
//
// # Contract
//
// A Dir remembers nothing and makes nothing; what is not there is empty. All is
// done through an os.Root: nothing beyond the directory is touched, and links in
// it are neither followed nor taken for directories of pods. A name that is not
// of the shape above is nobody's and stays. Directories are read in pieces, up to
// MaxEntries names. Methods may be called concurrently.
//
// # Statements kept
//
// GC-8: the UID is in the name of the directory. GC-9 and KC-17: what was rotated
// goes with the attempt. KC-2: the number after the highest N of N.log.
//
// # Differences from the kubelet
//
//   - There are no links to logs by the names of containers, and so none that are
//     dead (GC-9).
//   - Of an attempt that was rotated away the files that are left count (KC-2).
package logfiles
