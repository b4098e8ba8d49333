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

// replaceWithSavedVersion replaces f by the last good version that an earlier process has saved. If that
// version cannot be read or used, it reports the error, and f becomes a file with stateLost, because pods of it
// may run. It returns true if f has changed, so that the caller must parse the content again.
func (s *Source) replaceWithSavedVersion(f *manifestFile) (replaced bool) {
	if s.cfg.StateDir == "" {
		return false
	}
	kept, err := fileVersionStore(s.cfg.StateDir, f.path).loadUnlessSavedForOtherURL()
	restored := manifestFile{path: f.path}
	if err == nil && kept.Body != nil {
		restored.legacyUIDs = kept.UIDs == legacyUIDs
		err = restored.loadSavedVersion(kept.Body, &s.cfg, s.cfg.MaxMemory-s.memory) // Another version of this package may have saved it.
	}
	switch {
	case err != nil:
		s.storeAndReportSaveFault(f.path, err)
		restored = manifestFile{path: f.path, state: stateLost}
	default:
		s.faults.resolveIfActive(fileSaveFaultKey(f.path))
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

// hasSavedLegacyUIDs reports whether the saved version of a file has UIDs by the rule of an earlier version of
// this package, so that its pods must keep those UIDs. Only a file whose text contains "PodList" can have them.
func (s *Source) hasSavedLegacyUIDs(path string, text []byte) bool {
	if s.cfg.StateDir == "" || !bytes.Contains(text, []byte("PodList")) {
		return false
	}
	saved, err := fileVersionStore(s.cfg.StateDir, path).loadUnlessSavedForOtherURL()
	return err == nil && saved.Body != nil && saved.UIDs == legacyUIDs
}

// saveBatch is how many versions are saved before the source checks for events. A disk may take seconds for a thousand.
const saveBatch = 256

// saveNextBatchAndRemoveStale saves up to saveBatch unsaved good versions of files, in order of their paths,
// and returns true if more remain. It reads a file again if its text is no longer in memory. After the last
// path it deletes the saved versions of files that no longer exist. Without a state directory it does nothing.
func (s *Source) saveNextBatchAndRemoveStale(ctx context.Context) (more bool) {
	if s.cfg.StateDir == "" {
		return false
	}
	unsaved := s.nextUnsavedPaths()
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
	save := func(path string, value any, err error) {
		if err == nil {
			s.saveOrDeleteVersionIfGood(path, value.(fileContent).text)
		}
	}
	_ = s.io.runEach(ctx, notKept, s.readFile, save) // The caller checks ctx.
	if !more && !s.saving.staleRemoved {
		s.removeStaleVersionsAndReport()
	}
	return more
}

// nextUnsavedPaths returns the sorted paths after saving.lastPath of the files whose good version is not saved
// but can be: it is still on disk, or its text is in memory.
func (s *Source) nextUnsavedPaths() (paths []string) {
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if f := s.files[path]; path > s.saving.lastPath && f.saved != f.good && (f.state == stateGood || f.text != nil) {
			paths = append(paths, path)
		}
	}
	return paths
}

// maxKeptBytes bounds the texts that wait to be saved, in bytes.
const maxKeptBytes = 4 << 20

// keepTextUntilSaved keeps the text of f in memory until it is saved, because the file may have another content
// later. It keeps only a good version that is not saved. It keeps nothing without a state directory, or if all
// kept texts together would exceed maxKeptBytes.
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

// dropKeptText removes the text of a file that waits to be saved from memory.
func (s *Source) dropKeptText(f *manifestFile) {
	s.saving.keptBytes -= len(f.text)
	f.text = nil
}

// saveKeptText saves the text of a manifest file that is kept in memory. It returns false if no text is kept.
// In all other cases it returns true, even if the save failed. It saves nothing if ctx is done.
func (s *Source) saveKeptText(ctx context.Context, path string) (hadText bool) {
	f := s.files[path]
	if f.text == nil {
		return false
	}
	if ctx.Err() == nil {
		s.saveOrDeleteVersionIfGood(path, f.text)
	}
	return true
}

// exitSaveTimeout is how long Run continues to save after ctx is done.
const exitSaveTimeout = 5 * time.Second

// saveKeptTextsBeforeExit saves the texts that are kept in memory, when Run returns. It stops after
// exitSaveTimeout.
func (s *Source) saveKeptTextsBeforeExit() {
	if s.saving.keptBytes == 0 {
		return
	}
	s.saving.lastPath = ""
	late := s.cfg.Clock.Now().Add(exitSaveTimeout)
	for _, path := range s.nextUnsavedPaths() {
		if s.saveKeptText(context.Background(), path); s.cfg.Clock.Now().After(late) {
			return
		}
	}
}

// saveOrDeleteVersionIfGood saves the text that was read from a file, if it is still the good version of that
// file. If that version has no pods, it deletes the saved version instead. A failure is reported; a success
// drops the text from memory.
func (s *Source) saveOrDeleteVersionIfGood(path string, text []byte) {
	f := s.files[path]
	if f == nil || sha256.Sum256(text) != f.good {
		return
	}
	k, err := fileVersionStore(s.cfg.StateDir, path), error(nil)
	if len(f.pods) == 0 {
		err = k.removeSavedVersionIfAny()
	} else if was, broken := k.loadUnlessSavedForOtherURL(); broken != nil || was.Body == nil || sha256.Sum256(was.Body) != f.good {
		err = k.saveAtomicallyIfDirSet("", text, f.legacyUIDs)
	}
	if err != nil {
		s.storeAndReportSaveFault(path, err)
		return
	}
	f.saved = f.good
	s.dropKeptText(f)
	s.faults.resolveIfActive(fileSaveFaultKey(path))
}

// storeAndReportSaveFault stores the fault that the good version of a file cannot be saved or loaded. It
// reports the fault, unless the same error was reported last.
func (s *Source) storeAndReportSaveFault(path string, err error) {
	s.faults.storeAndReportIfNew(fileSaveFaultKey(path), Problem{Path: path, Err: fmt.Errorf("%w: %w", ErrKeep, err)}, nil)
}

// errRemoveStale is an ErrKeep: the saved version of a removed file could not be deleted.
var errRemoveStale = fmt.Errorf("%w: cannot delete the saved versions of removed files", ErrKeep)

// removeStaleVersionsAndReport deletes the saved versions of files that no longer exist. It reports an error as
// a fault; a success resolves that fault.
func (s *Source) removeStaleVersionsAndReport() {
	err := s.deleteUnlistedVersions()
	if s.saving.staleRemoved = err == nil; s.saving.staleRemoved {
		s.faults.resolveIfActive(cleanupFault)
		return
	}
	s.faults.storeAndReportIfNew(cleanupFault, Problem{Path: s.cfg.StateDir, Err: fmt.Errorf("%w: %w", errRemoveStale, err)}, nil)
}

// deleteUnlistedVersions deletes the saved versions of the files that are missing in the last listing, and
// their temporary files.
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
