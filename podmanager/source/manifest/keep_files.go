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

// saveProgress is how far a Source has saved the good versions of its files for the next process. The fields saved and
// text of each file belong to it.
type saveProgress struct {
	heldBytes    int    // bytes of the texts of all files, at most maxHeldBytes
	lastPath     string // the last path that the current round has saved
	staleRemoved bool   // the saved versions of removed files were deleted
}

// restoreSavedVersion loads the last good version of a file that an earlier process has saved. It reports whether the
// content of the file must be processed again. If the saved version cannot be read, it may have pods. The file then has
// stateLost until it is good, or until the saved version is removed.
func (s *Source) restoreSavedVersion(f *manifestFile) bool {
	if s.cfg.StateDir == "" {
		return false
	}
	kept, err := fileVersionStore(s.cfg.StateDir, f.path).load()
	restored := manifestFile{path: f.path}
	if err == nil && kept.Body != nil {
		restored.legacyUIDs = kept.UIDs == legacyUIDs
		err = restored.loadSaved(kept.Body, &s.cfg, s.cfg.MaxMemory-s.memory) // Another version of this package may have saved it.
	}
	switch {
	case err != nil:
		s.reportSaveError(f.path, err)
		restored = manifestFile{path: f.path, state: stateLost}
	default:
		s.faults.resolve(fileSaveFault(f.path))
	}
	if (f.state == stateLost) == (restored.state == stateLost) && restored.pods == nil {
		return false
	}
	restored.saved = restored.good
	s.releaseText(f)
	*f = restored
	s.memory += f.memory
	return true
}

// hasLegacyUIDs reports whether pods of a file have UIDs by the rule of an earlier version of this package. The pods
// then keep them.
func (s *Source) hasLegacyUIDs(path string, data any) bool {
	text, _ := data.([]byte)
	if s.cfg.StateDir == "" || !bytes.Contains(text, []byte("PodList")) {
		return false
	}
	saved, err := fileVersionStore(s.cfg.StateDir, path).load()
	return err == nil && saved.Body != nil && saved.UIDs == legacyUIDs
}

// saveBatch is how many versions are saved before the source checks for events. A disk may take seconds for a thousand.
const saveBatch = 256

// saveNextVersions saves the next new good versions, in order of their paths. At the end of a round it deletes the
// saved versions of removed files. It returns true if the round is not complete. It reads files again whose text was
// not held. A file that has changed since then is saved after a later scan.
func (s *Source) saveNextVersions(ctx context.Context) (more bool) {
	if s.cfg.StateDir == "" {
		return false
	}
	unsaved := s.unsavedFiles()
	if more = len(unsaved) > saveBatch; more {
		unsaved = unsaved[:saveBatch]
		s.saving.lastPath = unsaved[saveBatch-1] // Advance also past a version that cannot be saved, so that it does not block the others.
	} else {
		s.saving.lastPath = ""
	}
	var unheld []string
	for _, path := range unsaved {
		if !s.saveHeldText(ctx, path) {
			unheld = append(unheld, path)
		}
	}
	_ = s.io.runEach(ctx, unheld, s.readFile, s.saveVersion) // The caller checks ctx.
	if !more && !s.saving.staleRemoved {
		s.removeStaleVersions()
	}
	return more
}

// unsavedFiles returns the files of the round with a good version that is not saved.
func (s *Source) unsavedFiles() (paths []string) {
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if f := s.files[path]; path > s.saving.lastPath && f.saved != f.good && (f.state == stateGood || f.text != nil) {
			paths = append(paths, path)
		}
	}
	return paths
}

// maxHeldBytes bounds the texts that wait to be saved, in bytes.
const maxHeldBytes = 4 << 20

// holdText keeps the text that was just read until it is saved, if it is a good version. The file may have another
// content by then.
func (s *Source) holdText(f *manifestFile, text []byte) {
	if f.state != stateGood {
		return // The held text belongs to the last good version.
	}
	s.releaseText(f)
	if s.cfg.StateDir != "" && f.saved != f.good && s.saving.heldBytes+len(text) <= maxHeldBytes {
		f.text = text
		s.saving.heldBytes += len(text)
	}
}

// releaseText drops the held text of a file.
func (s *Source) releaseText(f *manifestFile) {
	s.saving.heldBytes -= len(f.text)
	f.text = nil
}

// saveHeldText saves the held text of a file. It returns false if no text is held.
func (s *Source) saveHeldText(ctx context.Context, path string) bool {
	f := s.files[path]
	if f.text == nil {
		return false
	}
	if ctx.Err() == nil {
		s.saveVersion(path, f.text, nil)
	}
	return true
}

// exitSaveTimeout is how long Run continues to save after ctx is done.
const exitSaveTimeout = 5 * time.Second

// saveBeforeExit saves the held texts when Run returns.
func (s *Source) saveBeforeExit() {
	if s.saving.heldBytes == 0 {
		return
	}
	s.saving.lastPath = ""
	late := s.cfg.Clock.Now().Add(exitSaveTimeout)
	for _, path := range s.unsavedFiles() {
		if s.saveHeldText(context.Background(), path); s.cfg.Clock.Now().After(late) {
			return
		}
	}
}

// saveVersion saves the good version of a file. For a version without pods it deletes the saved version.
func (s *Source) saveVersion(path string, data any, err error) {
	f, text := s.files[path], []byte(nil)
	if err == nil {
		text = data.([]byte)
	}
	if f == nil || err != nil || sha256.Sum256(text) != f.good {
		return
	}
	k := fileVersionStore(s.cfg.StateDir, path)
	if len(f.pods) == 0 {
		err = k.remove()
	} else if was, broken := k.load(); broken != nil || was.Body == nil || sha256.Sum256(was.Body) != f.good {
		err = k.save("", text, f.legacyUIDs)
	}
	if err != nil {
		s.reportSaveError(path, err)
		return
	}
	f.saved = f.good
	s.releaseText(f)
	s.faults.resolve(fileSaveFault(path))
}

// reportSaveError reports that the version of a file cannot be saved or loaded.
func (s *Source) reportSaveError(path string, err error) {
	s.faults.reportIfNew(fileSaveFault(path), Problem{Path: path, Err: fmt.Errorf("%w: %w", ErrKeep, err)}, nil)
}

// errRemoveStale is an ErrKeep: the saved version of a removed file could not be deleted.
var errRemoveStale = fmt.Errorf("%w: cannot delete the saved versions of removed files", ErrKeep)

// removeStaleVersions deletes the saved versions of removed files, and reports an error.
func (s *Source) removeStaleVersions() {
	err := s.deleteUnlistedVersions()
	if s.saving.staleRemoved = err == nil; s.saving.staleRemoved {
		s.faults.resolve(cleanupFault)
		return
	}
	s.faults.reportIfNew(cleanupFault, Problem{Path: s.cfg.StateDir, Err: fmt.Errorf("%w: %w", errRemoveStale, err)}, nil)
}

// deleteUnlistedVersions deletes the saved versions of files that the last listing lacks.
func (s *Source) deleteUnlistedVersions() error {
	known := map[string]bool{}
	for _, path := range s.listed {
		known[fileVersionStore("", path).name] = true
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
		if name := strings.TrimPrefix(e.Name(), "."); strings.HasPrefix(name, savedFilePrefix) && !known[name] {
			err = errors.Join(err, root.Remove(e.Name()))
		}
	}
	return err
}
