// Package files is the file tree of a simulated container: directories and regular files in
// memory, bounded in bytes and in number, alone and with all trees of a Room.
//
// Names are as the container has them. They never lead out of the tree. Pack and Unpack
// speak tar, and believe nothing that an archive says of itself.
package files
