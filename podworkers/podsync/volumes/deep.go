package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// maxDepth is how deep a tree is removed at once: each level is an open file.
const maxDepth = 64

// removeAll removes a tree. One that is so deep that the process has not files
// enough to descend, as a container may make it, is first cut into pieces.
func removeAll(dir *os.Root, name string) error {
	err := dir.RemoveAll(name)
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return err
	}
	tree, err := dir.OpenRoot(name)
	if err != nil {
		return err
	}
	defer tree.Close()
	c := cutter{tree: tree}
	pieces := []string{"."}
	for len(pieces) > 0 {
		last := len(pieces) - 1
		piece := pieces[last]
		if pieces, err = c.cut(pieces[:last], piece, 0); err != nil {
			return err
		}
	}
	return dir.RemoveAll(name)
}

// cutter moves what lies too deep to the top of its tree.
type cutter struct {
	tree *os.Root
	made int
}

// cut adds the pieces to be cut further.
func (c *cutter) cut(pieces []string, at string, depth int) ([]string, error) {
	dir, err := c.tree.OpenRoot(at)
	if err != nil {
		return pieces, err
	}
	entries, err := names(dir)
	dir.Close()
	if err != nil {
		return pieces, err
	}
	for _, entry := range entries {
		sub := path.Join(at, entry)
		info, err := c.tree.Lstat(sub)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return pieces, err
		case !info.IsDir():
		case depth < maxDepth:
			if pieces, err = c.cut(pieces, sub, depth+1); err != nil {
				return pieces, err
			}
		default:
			piece := fmt.Sprintf("..deep-%d", c.made)
			c.made++
			if err := c.tree.Rename(sub, piece); err != nil {
				return pieces, err
			}
			pieces = append(pieces, piece)
		}
	}
	return pieces, nil
}
