package osfile

// Usage is what files occupy on their file system.
type Usage struct{ Bytes, Inodes uint64 }

// UsageWalk measures directory trees. A file with several hard links counts once in all trees of one walk. The zero
// value is a new walk. Its methods are called one after another.
type UsageWalk struct {
	links map[fileID]struct{} // files with several hard links that were counted
}

// fileID identifies a file on the machine.
type fileID struct{ device, inode uint64 }
