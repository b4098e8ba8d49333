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

// entry is a node as it was at a time.
type entry struct {
	name string // from a directory
	node
}

// List returns the names of a directory, sorted; of a file, its own.
func (t *Tree) List(name string) ([]string, error) {
	all := t.below(name, "")
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

// below is a node and all below it, by names that begin with one of it.
func (t *Tree) below(name, as string) (all []entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name = clean(name)
	for _, full := range slices.Sorted(maps.Keys(t.mu.nodes)) {
		if rest, ok := strings.CutPrefix(full, strings.TrimSuffix(name, "/")); full == name {
			all = append(all, entry{as, *t.mu.nodes[full]})
		} else if ok && strings.HasPrefix(rest, "/") {
			all = append(all, entry{strings.TrimPrefix(as+rest, "/"), *t.mu.nodes[full]})
		}
	}
	return all
}

// Pack writes an archive of names below a directory. What is missing is an error at the end,
// and the archive is left without its own end then: kubectl takes one that has it for whole.
func (t *Tree) Pack(w io.Writer, dir string, names []string) error {
	out := tar.NewWriter(w)
	var errs []error
	for _, name := range names {
		from := name
		if !path.IsAbs(name) {
			from = path.Join(dir, name)
		}
		all := t.below(from, cmp.Or(clean(name)[1:], "."))
		if len(all) == 0 {
			errs = append(errs, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist})
		}
		for _, e := range all {
			if err := e.pack(out); err != nil {
				return errors.Join(append(errs, err)...)
			}
		}
	}
	if len(errs) > 0 {
		return errors.Join(append(errs, out.Flush())...)
	}
	return out.Close()
}

func (e entry) pack(w *tar.Writer) error {
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

// mostErrors is how many errors are told of one archive.
const mostErrors = 10

// Unpack reads an archive to its end, into a directory. What is neither a directory nor a
// regular file, or leads out of the directory, is left out, which is an error at the end. It
// stops when there is no room left.
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
		err = failed("unpack", shortened(h.Name), t.unpack(in, h, dir))
		if err != nil && len(errs) < mostErrors {
			errs = append(errs, err)
		}
		if errors.Is(err, ErrFull) || errors.Is(err, fs.ErrClosed) {
			return errors.Join(errs...)
		}
	}
}

func shortened(name string) string { return fmt.Sprintf("%.100s", name) }

func (t *Tree) unpack(r io.Reader, h *tar.Header, dir string) error {
	name := path.Join(dir, h.Name)
	as := node{mode: fs.FileMode(h.Mode).Perm(), modified: h.ModTime, dir: h.Typeflag == tar.TypeDir}
	switch {
	case slices.Contains(strings.Split(h.Name, "/"), ".."):
		return errors.New("leads out of the directory")
	case !as.dir && h.Typeflag != tar.TypeReg:
		return errors.New("neither a directory nor a regular file")
	}
	n, err := t.make(name, as)
	if err != nil || as.dir {
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		got, err := r.Read(buf)
		if full := t.append(n, buf[:got]); full != nil {
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
