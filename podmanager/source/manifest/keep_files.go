package manifest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podkeel/podkeel/internal/osfile"
)

// keeping is how far a Source has come with keeping the good versions of its files for the next
// process. Each file has its own part: saved and text.
type keeping struct {
	held  int    // bytes of the texts of all files, maxHeld at most
	to    string // the path to which a round of keeping has come
	swept bool   // what was kept of files that are gone has been removed
}

// recall takes in the last good version of a file that an earlier process has kept, and reports
// whether the file has to be looked at again with it. One that is kept and cannot be read may
// have had pods: the file is lost until it is good, or nothing is kept any more.
func (s *Source) recall(f *file) bool {
	if s.cfg.StateDir == "" {
		return false
	}
	kept, err := keeperOf(s.cfg.StateDir, f.path).load()
	was := file{path: f.path}
	if err == nil && kept.Body != nil {
		was.formerUIDs = kept.UIDs == formerUIDs
		err = was.loadKept(kept.Body, &s.cfg, s.cfg.MaxMemory-s.memory) // Another version of this package may have kept it.
	}
	switch {
	case err != nil:
		s.keepFails(f.path, err)
		was = file{path: f.path, state: lost}
	default:
		s.faults.end(aboutKept(f.path))
	}
	if (f.state == lost) == (was.state == lost) && was.pods == nil {
		return false
	}
	was.saved = was.good
	s.release(f)
	*f = was
	s.memory += f.memory
	return true
}

// hasFormerUIDs reports whether an earlier version of this package has given pods of a file other
// UIDs than this version would. The pods then keep those UIDs.
func (s *Source) hasFormerUIDs(path string, data any) bool {
	text, _ := data.([]byte)
	if s.cfg.StateDir == "" || !bytes.Contains(text, []byte("PodList")) {
		return false
	}
	was, err := keeperOf(s.cfg.StateDir, path).load()
	return err == nil && was.Body != nil && was.UIDs == formerUIDs
}

// keptAtOnce is how many good versions are kept without a look at the news. A disk may take
// seconds for a thousand.
const keptAtOnce = 256

// keepSome keeps the next good versions that are new, in order of their paths, and at the end of
// a round lets go of those of files that are gone. It reports whether more of the round is left.
// Files for the text of which there was no room are read again: one that has changed since is
// kept after a later scan.
func (s *Source) keepSome(ctx context.Context) (more bool) {
	if s.cfg.StateDir == "" {
		return false
	}
	unsaved := s.unsaved()
	if more = len(unsaved) > keptAtOnce; more {
		unsaved = unsaved[:keptAtOnce]
		s.keep.to = unsaved[keptAtOnce-1] // Not only kept: one that cannot be holds up no other.
	} else {
		s.keep.to = ""
	}
	var unheld []string
	for _, path := range unsaved {
		if !s.keepHeld(ctx, path) {
			unheld = append(unheld, path)
		}
	}
	_ = s.slow.each(ctx, unheld, s.read, s.keepOne) // The end of ctx is seen by the caller.
	if !more && !s.keep.swept {
		s.sweep()
	}
	return more
}

// unsaved are the files of the round that have a good version which is not kept.
func (s *Source) unsaved() (paths []string) {
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if f := s.files[path]; path > s.keep.to && f.saved != f.good && (f.state == fine || f.text != nil) {
			paths = append(paths, path)
		}
	}
	return paths
}

// maxHeld bounds the texts that are held until they are kept, in bytes.
const maxHeld = 4 << 20

// hold holds the text that was just read, if it is a good version that is to be kept: the file may
// be another one by then.
func (s *Source) hold(f *file, text []byte) {
	if f.state != fine {
		return // What is held is that of the last good version.
	}
	s.release(f)
	if s.cfg.StateDir != "" && f.saved != f.good && s.keep.held+len(text) <= maxHeld {
		f.text = text
		s.keep.held += len(text)
	}
}

func (s *Source) release(f *file) {
	s.keep.held -= len(f.text)
	f.text = nil
}

// keepHeld keeps a good version whose text is held, and reports whether one was held.
func (s *Source) keepHeld(ctx context.Context, path string) bool {
	f := s.files[path]
	if f.text == nil {
		return false
	}
	if ctx.Err() == nil {
		s.keepOne(path, f.text, nil)
	}
	return true
}

// lastKeep is how long a source that ends goes on to keep what it has read.
const lastKeep = 5 * time.Second

// keepLast keeps the texts that are held when the source ends.
func (s *Source) keepLast() {
	if s.keep.held == 0 {
		return
	}
	s.keep.to = ""
	late := s.cfg.Clock.Now().Add(lastKeep)
	for _, path := range s.unsaved() {
		if s.keepHeld(context.Background(), path); s.cfg.Clock.Now().After(late) {
			return
		}
	}
}

// keepOne keeps one good version. One without pods is not kept: without it nothing ends.
func (s *Source) keepOne(path string, data any, err error) {
	f, text := s.files[path], []byte(nil)
	if err == nil {
		text = data.([]byte)
	}
	if f == nil || err != nil || sha256.Sum256(text) != f.good {
		return
	}
	k := keeperOf(s.cfg.StateDir, path)
	if len(f.pods) == 0 {
		err = k.remove()
	} else if was, broken := k.load(); broken != nil || was.Body == nil || sha256.Sum256(was.Body) != f.good {
		err = k.save("", text, f.formerUIDs)
	}
	if err != nil {
		s.keepFails(path, err)
		return
	}
	f.saved = f.good
	s.release(f)
	s.faults.end(aboutKept(path))
}

func (s *Source) keepFails(path string, err error) {
	s.faults.tellOnce(aboutKept(path), Problem{Path: path, Err: fmt.Errorf("%w: %w", ErrKeep, err)}, nil)
}

// errSweep is an ErrKeep: what was kept of a file that is gone could not be removed.
var errSweep = fmt.Errorf("%w: removing what was kept of files that are gone", ErrKeep)

// sweep removes what was kept of files that are gone, or says why it could not.
func (s *Source) sweep() {
	err := s.removeUnlisted()
	if s.keep.swept = err == nil; s.keep.swept {
		s.faults.end(aboutSweep)
		return
	}
	s.faults.tellOnce(aboutSweep, Problem{Path: s.cfg.StateDir, Err: fmt.Errorf("%w: %w", errSweep, err)}, nil)
}

func (s *Source) removeUnlisted() error {
	known := map[string]bool{}
	for _, path := range s.listed {
		known[keeperOf("", path).name] = true
	}
	root, err := osfile.OpenDir(s.cfg.StateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if name := strings.TrimPrefix(e.Name(), "."); strings.HasPrefix(name, keptFile) && !known[name] {
			err = errors.Join(err, root.Remove(e.Name()))
		}
	}
	return err
}
