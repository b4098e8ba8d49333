package volumes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/podkeel/podkeel/internal/osfile"
)

// The permissions of the fsGroup. The setgid bit of a directory gives new files the same group.
const (
	groupFile       fs.FileMode = 0o660
	groupDirectory  fs.FileMode = 0o770 | fs.ModeSetgid
	entriesAtOnce               = 256
	permissionsKept             = fs.ModePerm | fs.ModeSetgid | fs.ModeSticky
)

// longestPath bounds the length of a path in a volume, in bytes. No program can use a longer path, and
// each level costs as much as all levels above it.
const longestPath = 4096

// giveTreeToGroup sets the group and the group permissions of a directory on the host and of everything in it,
// except mounted file systems. If the directory itself already has them, it does nothing. It changes the
// directory last, so that the next call repeats an interrupted one.
func giveTreeToGroup(ctx context.Context, path string, group int) error {
	root, err := osfile.OpenDir(path)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil || hasGroupAndPermissions(info, group) {
		return err
	}
	mounted, err := relativeMountPointsBelow(root)
	if err != nil {
		return err
	}
	g := groupChange{root: root, group: group, mounted: mounted}
	for dirs := []string{"."}; len(dirs) > 0; {
		dir := dirs[len(dirs)-1]
		below, err := g.changeGroupOfDirEntries(ctx, dir)
		if err != nil {
			return err
		}
		dirs = append(dirs[:len(dirs)-1], below...)
	}
	return giveEntryToGroup(root, ".", info, group)
}

// groupChange is the state of one giveTreeToGroup.
type groupChange struct {
	root    *os.Root
	group   int
	mounted map[string]bool // the mount points in the directory
}

// changeGroupOfDirEntries sets the group and the group permissions of each file and directory directly in a
// directory. It returns the paths of these directories, whose entries the caller must change too. Files that
// disappear meanwhile are no error.
func (g *groupChange) changeGroupOfDirEntries(ctx context.Context, path string) (below []string, err error) {
	dir, err := osfile.OpenDirWithin(g.root, path)
	if err != nil {
		return nil, nilIfErrorIs(nilIfErrorIs(err, osfile.ErrNotDirectory), fs.ErrNotExist)
	}
	defer dir.Close()
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(entriesAtOnce)
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			isDir, err := g.changeGroupOfEntry(dir, path, e.Name())
			if err != nil {
				return nil, err
			}
			if isDir {
				below = append(below, filepath.Join(path, e.Name()))
			}
		}
		if errors.Is(err, io.EOF) {
			return below, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// changeGroupOfEntry sets the group and the group permissions of one file or directory. It skips a mount point.
// isDir is true if the entry is a directory whose entries the caller must change too. A file that disappears is
// no error, and a very long path is one.
func (g *groupChange) changeGroupOfEntry(dir *os.Root, path, name string) (isDir bool, err error) {
	full := filepath.Join(path, name)
	if g.mounted[full] {
		return false, nil
	}
	if len(full) > longestPath {
		return false, fmt.Errorf("it has a path of more than %d bytes, which begins with %.40q: it cannot be given to a group", longestPath, full)
	}
	info, err := dir.Lstat(name)
	if err == nil {
		err = giveEntryToGroup(dir, name, info, g.group)
	}
	return err == nil && info.IsDir(), nilIfErrorIs(err, fs.ErrNotExist)
}

// giveEntryToGroup sets the group and the group permissions of one file or directory. For a symbolic link it
// sets only the group of the link.
func giveEntryToGroup(root *os.Root, name string, info fs.FileInfo, group int) error {
	mode := info.Mode()
	if mode&fs.ModeSymlink != 0 {
		return root.Lchown(name, -1, group)
	}
	wanted := mode&permissionsKept | groupFile
	if info.IsDir() {
		wanted |= groupDirectory
	}
	return setGroupAndMode(root, name, wanted, group)
}

// hasGroupAndPermissions reports whether a directory has the group and the group permissions that
// giveTreeToGroup sets. It returns false on systems where the group is not known.
func hasGroupAndPermissions(info fs.FileInfo, group int) bool {
	owner, known := fileGroup(info)
	return known && owner == group && info.Mode()&groupDirectory == groupDirectory
}
