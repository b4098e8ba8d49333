// Package files is the in-memory file tree of a simulated container: directories and regular files.
// The bytes and the number of files of a tree are limited. A Quota limits the bytes of all trees
// together.
//
// Names are absolute in the container, and ".." never leads out of the tree. Pack and Unpack read
// and write tar archives. Unpack trusts no size, name or type that an archive contains.
package files
