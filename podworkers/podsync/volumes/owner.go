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

// What the group of a volume may do: files, and directories, in which what is made later
// belongs to it too.
const (
	groupFile       fs.FileMode = 0o660
	groupDirectory  fs.FileMode = 0o770 | fs.ModeSetgid
	entriesAtOnce               = 256
	permissionsKept             = fs.ModePerm | fs.ModeSetgid | fs.ModeSticky
)

// longestPath is how long a path in a volume may be, in bytes. No program reaches what lies
// deeper by its path, and each step down costs as much as all above it.
const longestPath = 4096

// giveTree gives a directory of the host and all in it to a group. The directory itself comes
// last, and one that is the group's already is left alone with all in it: so an attempt that
// was cut short is repeated, and one that was not costs nothing the next time. Nothing outside
// of the directory is touched, wherever links in it lead, and whoever changes them meanwhile.
// What is mounted in it is not of this volume, and stays as it is.
func giveTree(ctx context.Context, path string, group int) error {
	root, err := osfile.OpenDir(path)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil || ownedBy(info, group) {
		return err
	}
	mounted, err := mountedBelow(root)
	if err != nil {
		return err
	}
	g := giving{root: root, group: group, mounted: mounted}
	for dirs := []string{"."}; len(dirs) > 0; {
		dir := dirs[len(dirs)-1]
		below, err := g.entries(ctx, dir)
		if err != nil {
			return err
		}
		dirs = append(dirs[:len(dirs)-1], below...)
	}
	return giveEntry(root, ".", info, group)
}

// giving is one call of giveTree.
type giving struct {
	root    *os.Root
	group   int
	mounted map[string]bool // paths on which something is mounted
}

// entries gives what is in a directory to the group, and returns the directories among it.
// What has gone meanwhile, or is no directory any more, is no error.
func (g *giving) entries(ctx context.Context, path string) (below []string, err error) {
	dir, err := osfile.OpenDirWithin(g.root, path)
	if err != nil {
		return nil, unless(unless(err, osfile.ErrNotDirectory), fs.ErrNotExist)
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
			isDir, err := g.entry(dir, path, e.Name())
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

// entry gives what is in a directory of this path, and reports whether it is a directory to
// go on in.
func (g *giving) entry(dir *os.Root, path, name string) (isDir bool, err error) {
	full := filepath.Join(path, name)
	if g.mounted[full] {
		return false, nil
	}
	if len(full) > longestPath {
		return false, fmt.Errorf("it has a path of more than %d bytes, which begins with %.40q: it cannot be given to a group", longestPath, full)
	}
	info, err := dir.Lstat(name)
	if err == nil {
		err = giveEntry(dir, name, info, g.group)
	}
	return err == nil && info.IsDir(), unless(err, fs.ErrNotExist)
}

// giveEntry gives one file or directory to the group. Of a link only the link itself is given.
func giveEntry(root *os.Root, name string, info fs.FileInfo, group int) error {
	mode := info.Mode()
	if mode&fs.ModeSymlink != 0 {
		return root.Lchown(name, -1, group)
	}
	wanted := mode&permissionsKept | groupFile
	if info.IsDir() {
		wanted |= groupDirectory
	}
	return give(root, name, wanted, group)
}

// ownedBy reports whether a directory is as giveTree leaves it.
func ownedBy(info fs.FileInfo, group int) bool {
	owner, known := groupOf(info)
	return known && owner == group && info.Mode()&groupDirectory == groupDirectory
}
