package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// pathKind is the kind of the configured path. It must not change: a directory that becomes a file is a mistake, not an
// empty directory (F29).
type pathKind int

const (
	unknownPath pathKind = iota
	directoryPath
	singleFilePath
)

// errKindChanged means that a directory became a file, or a file a directory.
var errKindChanged = errors.New("it was a directory and is a file now, or the other way round")

// listing is the result of listing the path.
type listing struct {
	kind  pathKind
	paths []string // sorted
}

// listFilesAndStoreKind returns the sorted paths of all manifest files, and stores whether the configured path
// is a file or a directory. It returns an ErrListing if the path cannot be listed or the listing takes too
// long.
func (s *Source) listFilesAndStoreKind(ctx context.Context) ([]string, error) {
	kind, limit := s.kind, s.cfg.MaxFiles // The call may outlive this scan.
	got, err := s.io.runWithLimitUnlessPending(ctx, "", func() (any, error) { return listManifestPaths(s.tree, s.cfg.Path, s.cfg.StateDir, kind, limit) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrListing, err)
	}
	l := got.(listing)
	s.kind = l.kind
	return l.paths, nil
}

// listManifestPaths lists the configured path, which is a regular file or a directory, and returns sorted
// paths. It leaves out hidden files and editors' files, except files that an earlier version of this package
// has read. It returns an error for a path of another kind than earlierKind, and for more than maxNames names.
// If earlierKind is a single file and that file was removed, the listing is empty.
func listManifestPaths(tree fileTree, path, stateDir string, earlierKind pathKind, maxNames int) (listing, error) {
	info, err := tree.stat()
	if err != nil {
		if earlierKind == singleFilePath && tree.isRemoved() {
			return listing{kind: singleFilePath}, nil
		}
		return listing{}, err
	}
	found := singleFilePath
	if info.IsDir() {
		found = directoryPath
	}
	switch {
	case earlierKind != unknownPath && earlierKind != found:
		return listing{}, errKindChanged
	case found == singleFilePath && !info.Mode().IsRegular():
		return listing{}, newNotFileError(info)
	case found == singleFilePath:
		return listing{singleFilePath, []string{path}}, nil
	}
	names, err := tree.listNames(maxNames)
	if err != nil {
		return listing{}, err
	}
	l := listing{kind: directoryPath}
	for _, name := range names {
		if !isIgnoredName(name) || wasReadByEarlierVersion(stateDir, tree.filePath(name)) {
			l.paths = append(l.paths, tree.filePath(name))
		}
	}
	slices.Sort(l.paths)
	return l, nil
}
