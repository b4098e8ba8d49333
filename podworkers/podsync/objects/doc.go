// Package objects finds the ConfigMaps and Secrets that pods refer to: in files, or in
// memory.
//
//	<dir>/configmaps/<namespace>/<name>.yaml   a manifest; also .yml and .json
//	<dir>/configmaps/<namespace>/<name>/<key>  or a file for each key
//	<dir>/secrets/<namespace>/<name>...        likewise, in plain bytes
//
// The first of these that exists is used. A manifest may omit kind, name and namespace. If it has
// them they must match its path. In a directory, names that begin with two dots are skipped, and
// names that are not valid keys are an error.
//
// # The contract
//
// Files and Map implement podsync.Objects and may be used concurrently. Each call reads the files
// again, so a change takes effect in the next sync of a pod. A missing object is
// runtime.ErrNotFound. A missing directory is another error: it does not mean that the object is
// missing.
//
// Links are followed as long as they stay in the directory. Only regular files and
// directories are opened, without waiting. An object has at most MaxBytes, as in an API
// server. A manifest is read strictly; one error names all of its faults with their lines.
// Numbers and booleans are accepted as texts, in canonical form (0x10 is "16").
package objects
