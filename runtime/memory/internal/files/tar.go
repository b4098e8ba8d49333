package files

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// entry is a copy of a node, with its name relative to a directory.
type entry struct {
	name string // relative
	node
}

// List returns the sorted names in a directory. For a file it returns the name of the file.
func (t *Tree) List(name string) ([]string, error) {
	all := t.entriesUnder(name, "")
	switch {
	case len(all) == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case !all[0].dir:
		return []string{name}, nil
	}
	var names []string
	for _, e := range all[1:] {
		if !strings.Contains(e.name, "/") {
			names = append(names, e.name)
		}
	}
	return names, nil
}

// entriesUnder returns copies of the file or directory at name and of everything below it, sorted by path. In
// the result, prefix replaces name: with prefix "b" and name "/a", the file /a/x is named b/x. The result is
// empty if name does not exist.
func (t *Tree) entriesUnder(name, prefix string) (all []entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name = absoluteName(name)
	for _, full := range slices.Sorted(maps.Keys(t.mu.nodes)) {
		if rest, ok := strings.CutPrefix(full, strings.TrimSuffix(name, "/")); full == name {
			all = append(all, entry{prefix, *t.mu.nodes[full]})
		} else if ok && strings.HasPrefix(rest, "/") {
			all = append(all, entry{strings.TrimPrefix(prefix+rest, "/"), *t.mu.nodes[full]})
		}
	}
	return all
}

// Pack writes a tar archive of names, which are relative to dir. It skips missing names and returns
// an error for them at the end. The archive then has no end marker. With an end marker, kubectl cp
// would take the archive as complete.
func (t *Tree) Pack(w io.Writer, dir string, names []string) error {
	out := tar.NewWriter(w)
	var errs []error
	for _, name := range names {
		from := name
		if !path.IsAbs(name) {
			from = path.Join(dir, name)
		}
		all := t.entriesUnder(from, cmp.Or(absoluteName(name)[1:], "."))
		if len(all) == 0 {
			errs = append(errs, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist})
		}
		for _, e := range all {
			if err := e.writeTo(out); err != nil {
				return errors.Join(append(errs, err)...)
			}
		}
	}
	if len(errs) > 0 {
		return errors.Join(append(errs, out.Flush())...)
	}
	return out.Close()
}

// writeTo writes the header and the content of a file or directory to a tar archive.
func (e entry) writeTo(w *tar.Writer) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode.Perm()), ModTime: e.modified, Size: int64(len(e.data))}
	if e.dir {
		h.Typeflag, h.Name = tar.TypeDir, e.name+"/"
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(e.data)
	return err
}

// maxUnpackErrors limits how many errors Unpack returns for one archive.
const maxUnpackErrors = 10

// Unpack extracts a tar archive into a directory. It skips entries that are neither directories nor
// regular files, and entries whose name contains "..". It returns an error for them at the end. It
// stops when the tree is full.
func (t *Tree) Unpack(r io.Reader, dir string) error {
	in := tar.NewReader(r)
	var errs []error
	for {
		h, err := in.Next()
		if err == io.EOF {
			return errors.Join(errs...)
		}
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		err = pathError("unpack", truncateName(h.Name), t.unpackEntry(in, h, dir))
		if err != nil && len(errs) < maxUnpackErrors {
			errs = append(errs, err)
		}
		if errors.Is(err, ErrFull) || errors.Is(err, fs.ErrClosed) {
			return errors.Join(errs...)
		}
	}
}

// truncateName returns the first 100 characters of a name from an archive, for an error message.
func truncateName(name string) string { return fmt.Sprintf("%.100s", name) }

// unpackEntry creates the file or directory of one archive entry below dir, with its content. It returns an
// error for a name with "..", for any other type of entry, and if the tree is full.
func (t *Tree) unpackEntry(r io.Reader, header *tar.Header, dir string) error {
	name := path.Join(dir, header.Name)
	as := node{mode: fs.FileMode(header.Mode).Perm(), modified: header.ModTime, dir: header.Typeflag == tar.TypeDir}
	switch {
	case slices.Contains(strings.Split(header.Name, "/"), ".."):
		return errors.New("leads out of the directory")
	case !as.dir && header.Typeflag != tar.TypeReg:
		return errors.New("neither a directory nor a regular file")
	}
	n, err := t.createNode(name, as)
	if err != nil || as.dir {
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		got, err := r.Read(buf)
		if full := t.appendData(n, buf[:got]); full != nil {
			return full
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
