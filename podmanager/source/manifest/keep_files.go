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
	keptBytes    int    // bytes of the texts of all files, at most maxKeptBytes
	lastPath     string // the last path that the current round has saved
	staleRemoved bool   // the saved versions of removed files were deleted
}

// replaceWithSavedVersion replaces a file by its last good version, which an earlier process has saved. It
// reports whether the file was replaced and its content must be parsed again. If the saved version cannot be
// read, the file gets stateLost, because pods of it may run.
func (s *Source) replaceWithSavedVersion(f *manifestFile) bool {
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
		s.faults.resolveIfActive(fileSaveFault(f.path))
	}
	if (f.state == stateLost) == (restored.state == stateLost) && restored.pods == nil {
		return false
	}
	restored.saved = restored.good
	s.dropKeptText(f)
	*f = restored
	s.memory += f.memory
	return true
}

// hasLegacyUIDs reports whether the saved version of a file has UIDs by the rule of an earlier version of this
// package. Only a PodList can have them. Its pods keep those UIDs.
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

// saveNextBatch saves up to saveBatch good versions that are not saved, in order of their paths, and reads
// those files again whose text is not kept. After the last path it deletes the saved versions of removed files.
// It returns true if more versions remain.
func (s *Source) saveNextBatch(ctx context.Context) (more bool) {
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
	var notKept []string
	for _, path := range unsaved {
		if !s.saveKeptText(ctx, path) {
			notKept = append(notKept, path)
		}
	}
	_ = s.io.runEach(ctx, notKept, s.readFile, s.saveOrDeleteVersion) // The caller checks ctx.
	if !more && !s.saving.staleRemoved {
		s.removeStaleVersions()
	}
	return more
}

// unsavedFiles returns the paths after saving.lastPath whose good version is not saved and is either on disk or
// kept as text.
func (s *Source) unsavedFiles() (paths []string) {
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if f := s.files[path]; path > s.saving.lastPath && f.saved != f.good && (f.state == stateGood || f.text != nil) {
			paths = append(paths, path)
		}
	}
	return paths
}

// maxKeptBytes bounds the texts that wait to be saved, in bytes.
const maxKeptBytes = 4 << 20

// keepTextUntilSaved keeps the text that was read, if it is a good version that is not saved, because the file
// may have another content later. It does nothing without a state directory, or if the texts would exceed
// maxKeptBytes.
func (s *Source) keepTextUntilSaved(f *manifestFile, text []byte) {
	if f.state != stateGood {
		return // The kept text belongs to the last good version.
	}
	s.dropKeptText(f)
	if s.cfg.StateDir != "" && f.saved != f.good && s.saving.keptBytes+len(text) <= maxKeptBytes {
		f.text = text
		s.saving.keptBytes += len(text)
	}
}

// dropKeptText drops the kept text of a file.
func (s *Source) dropKeptText(f *manifestFile) {
	s.saving.keptBytes -= len(f.text)
	f.text = nil
}

// saveKeptText saves the kept text of a file, unless ctx is done. It returns false if no text is kept.
func (s *Source) saveKeptText(ctx context.Context, path string) bool {
	f := s.files[path]
	if f.text == nil {
		return false
	}
	if ctx.Err() == nil {
		s.saveOrDeleteVersion(path, f.text, nil)
	}
	return true
}

// exitSaveTimeout is how long Run continues to save after ctx is done.
const exitSaveTimeout = 5 * time.Second

// saveKeptTextsBeforeExit saves the kept texts of all files when Run returns. It stops after exitSaveTimeout.
func (s *Source) saveKeptTextsBeforeExit() {
	if s.saving.keptBytes == 0 {
		return
	}
	s.saving.lastPath = ""
	late := s.cfg.Clock.Now().Add(exitSaveTimeout)
	for _, path := range s.unsavedFiles() {
		if s.saveKeptText(context.Background(), path); s.cfg.Clock.Now().After(late) {
			return
		}
	}
}

// saveOrDeleteVersion saves the text that was read, if it still is the good version of the file. For a version
// without pods it deletes the saved version. It drops the kept text after success and reports an error.
func (s *Source) saveOrDeleteVersion(path string, data any, err error) {
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
	s.dropKeptText(f)
	s.faults.resolveIfActive(fileSaveFault(path))
}

// reportSaveError reports that the good version of a file cannot be saved or loaded, unless the same error was
// reported.
func (s *Source) reportSaveError(path string, err error) {
	s.faults.storeAndReportIfNew(fileSaveFault(path), Problem{Path: path, Err: fmt.Errorf("%w: %w", ErrKeep, err)}, nil)
}

// errRemoveStale is an ErrKeep: the saved version of a removed file could not be deleted.
var errRemoveStale = fmt.Errorf("%w: cannot delete the saved versions of removed files", ErrKeep)

// removeStaleVersions deletes the saved versions of removed files. It reports an error, or resolves the
// previous one.
func (s *Source) removeStaleVersions() {
	err := s.deleteUnlistedVersions()
	if s.saving.staleRemoved = err == nil; s.saving.staleRemoved {
		s.faults.resolveIfActive(cleanupFault)
		return
	}
	s.faults.storeAndReportIfNew(cleanupFault, Problem{Path: s.cfg.StateDir, Err: fmt.Errorf("%w: %w", errRemoveStale, err)}, nil)
}

// deleteUnlistedVersions deletes the saved versions of the files that are missing in the last listing.
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
