package volumes

import (
	"context"
	"errors"
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

// giveTree gives a directory of the host and all in it to a group. The directory itself comes
// last, and one that is the group's already is left alone with all in it: so an attempt that
// was cut short is repeated, and one that was not costs nothing the next time. Nothing outside
// of the directory is touched, wherever links in it lead, and whoever changes them meanwhile.
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
	for dirs := []string{"."}; len(dirs) > 0; {
		dir := dirs[len(dirs)-1]
		below, err := giveEntries(ctx, root, dir, group)
		if err != nil {
			return err
		}
		dirs = append(dirs[:len(dirs)-1], below...)
	}
	return giveEntry(root, ".", info, group)
}

// giveEntries gives what is in a directory to the group, and returns the directories among it.
// What has gone meanwhile is no error.
func giveEntries(ctx context.Context, root *os.Root, dir string, group int) (below []string, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, unless(err, fs.ErrNotExist)
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(entriesAtOnce)
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			name := filepath.Join(dir, e.Name())
			info, err := root.Lstat(name)
			if err == nil {
				err = giveEntry(root, name, info, group)
			}
			if unless(err, fs.ErrNotExist) != nil {
				return nil, err
			}
			if err == nil && info.IsDir() {
				below = append(below, name)
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
