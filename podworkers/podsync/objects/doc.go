// Package objects finds the ConfigMaps and Secrets that pods refer to: in files
// on a disk, or in memory.
//
// # Files
//
//	<dir>/configmaps/<namespace>/<name>.yaml   a manifest; also .yml and .json
//	<dir>/configmaps/<namespace>/<name>/<key>  or a file for each key
//	<dir>/secrets/<namespace>/<name>...        likewise, in plain bytes
//
// The first that exists is taken, in this order. A manifest may leave out its
// kind, name and namespace; if it has them they must be those of its path. Of a
// directory, names that begin with two dots are ours or an editor's, and names
// that no key can have are an error.
//
// # Contract
//
// Both kinds of source implement podsync.Objects and may be used concurrently.
// Files are read anew for each call: what was changed takes effect with the next
// sync of a pod. An object that is not there is runtime.ErrNotFound. The whole
// directory not being there is another error, from which nothing follows (I47).
//
// Links are followed as long as they stay in the directory, as those of a mounted
// ConfigMap do. Only regular files and directories are opened, nothing is waited for
// (F28, F31), and an object has at most MaxBytes, as in an API server (F14). A manifest
// is read strictly, with all of its faults and their lines in one error; only numbers
// and booleans are taken for texts, in canonical form (0x10 is "16"). Aliases count as
// what they stand for.
package objects
