package checkpoint

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/keylock"
	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

// header is the first part of every file: it identifies the pod.
type header struct {
	Version   int       `json:"version"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	PodHash   string    `json:"shape"`
}

// newHeader returns the header for the checkpoint file of a pod: namespace, name, UID, the pod hash and the
// version of the file format.
func newHeader(pod *v1.Pod) header {
	return header{Version: version, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, PodHash: podsync.PodHash(pod)}
}

// checkForFileName returns an error if the header has another version of the format, an invalid UID, or a UID
// whose file has another name.
func (h *header) checkForFileName(name string) error {
	own, err := fileName(h.UID)
	switch {
	case h.Version != version:
		return fmt.Errorf("its version is %d, expected %d", h.Version, version)
	case err != nil:
		return err
	case own != name:
		return fmt.Errorf("it belongs to pod %s, which has another file name", h.UID)
	}
	return nil
}

// belongsTo reports whether a file belongs to this pod: the UID, namespace, name and pod hash in the header
// must match. It returns false for the file of an earlier pod with the same UID.
func (h *header) belongsTo(pod *v1.Pod) bool {
	return h.UID == pod.UID && h.Namespace == pod.Namespace && h.Name == pod.Name && podsync.MatchesPodHash(pod, h.PodHash)
}

// fileStore has one file per pod in one directory. takeReadValue returns each value that was read at the
// start once.
type fileStore[T any] struct {
	root      string
	readError error // the first reason why a file could not be read at the start
	syncDir   func(dir string) error
	// locks are held while the file of a pod is written or removed.
	locks keylock.Locks[types.UID]
	mu    struct {
		sync.Mutex
		found    map[types.UID]*T   // read at the start, not consumed yet
		kept     map[types.UID]bool // the pod has a file
		removals removalCount
	}
}

// removalCount decides whether a directory must be synced, so that no removed file comes back after a power failure. It
// counts the removals. The first synced of them are certainly on the disk.
type removalCount struct{ removed, synced int }

// needsSync reports whether a removed file may come back after a power failure.
func (c removalCount) needsSync() bool { return c.synced < c.removed }

// recordSync records a sync that began when removed had this value. Removals during the sync may not be on the disk.
func (c *removalCount) recordSync(removed int) { c.synced = max(c.synced, removed) }

// fileFormat is how the files of a store are decoded, with the log messages for unreadable ones.
type fileFormat[T any] struct {
	decode           func(name string, text []byte) (types.UID, *T, error)
	badRoot, badFile string
	// keepDamaged leaves damaged files in place, so that each start finds them.
	keepDamaged bool
	noMoreAside bool // maxDamaged files were set aside already
}

// createDirAndReadFiles creates the directory of the checkpoints if it is missing, and reads the files that an
// earlier process has left. It logs each file that cannot be read, and stores the first such error in
// s.readError. It also renames a damaged file. It returns an error if the directory's path is not absolute, or
// if the directory cannot be created or opened.
func (s *fileStore[T]) createDirAndReadFiles(cfg Config, c fileFormat[T]) error {
	if !filepath.IsAbs(cfg.Root) {
		return fmt.Errorf("checkpoint: Config.Root is no absolute path: %q", cfg.Root)
	}
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if err := osfile.MkdirAll(cfg.Root, 0o700); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	s.root, s.syncDir = cfg.Root, osfile.SyncDir
	s.mu.found, s.mu.kept = make(map[types.UID]*T), make(map[types.UID]bool)
	s.mu.removals.removed = 1 // An earlier process may have removed files without a sync.
	root, err := osfile.OpenDir(s.root)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer func() { _ = root.Close() }()
	names, err := listFilesAndRemoveUnfinished(root)
	if err != nil {
		log.Error(c.badRoot, "dir", s.root, "err", err)
		s.readError = fmt.Errorf("checkpoint: %s: %w", s.root, err)
	}
	for _, name := range names {
		uid, value, err := c.readFile(root, name)
		if err != nil {
			attrs := []any{"file", filepath.Join(s.root, name), "err", err}
			if aside, moved := c.renameIfDamaged(root, name, err); moved {
				attrs = append(attrs, "movedTo", filepath.Join(s.root, aside))
			}
			log.Error(c.badFile, attrs...)
			s.readError = cmp.Or(s.readError, fmt.Errorf("checkpoint: %s: %w", filepath.Join(s.root, name), err))
			if c.keepDamaged {
				s.mu.kept[types.UID(strings.TrimSuffix(name, extension))] = true // Drop removes the file.
			}
			continue
		}
		s.mu.found[uid], s.mu.kept[uid] = value, true
	}
	return nil
}

// readFile reads, decodes and verifies one file. It opens regular files only, also if the file is replaced
// meanwhile. A file above MaxSize is an error. The error of a damaged file is a damagedError.
func (c *fileFormat[T]) readFile(root *os.Root, name string) (types.UID, *T, error) {
	f, err := osfile.OpenFile(root, name, os.O_RDONLY, 0)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+checksumSize+1))
	switch {
	case err != nil:
		return "", nil, err
	case int64(len(text)) > MaxSize+checksumSize:
		return "", nil, tooLargeError()
	}
	uid, value, err := c.decode(name, text)
	if err == nil {
		err = verifyChecksum(text)
	}
	if err != nil && isDamaged(text) {
		err = &damagedError{err}
	}
	return uid, value, err
}

// damagedError is the error of a file that no version of this package has written like this.
type damagedError struct{ error }

func (e *damagedError) Unwrap() error { return e.error }

// isDamaged reports whether a text is not a JSON object with a version, or has this version and a wrong
// checksum. A file of another version is not damaged, because that version can read it.
func isDamaged(text []byte) bool {
	var h struct {
		Version int `json:"version"`
	}
	return json.Unmarshal(text, &h) != nil || h.Version == version && verifyChecksum(text) != nil
}

const (
	// damagedSuffix is appended to the name of a damaged file when it is set aside.
	damagedSuffix = ".damaged"
	// maxDamaged is how many files are set aside in one directory. Further ones stay in place.
	maxDamaged = 16
)

// renameIfDamaged renames a checkpoint file if err says that the file is damaged, so that no later process
// reads it. It returns the new name and true. It keeps the old name and returns false if keepDamaged is set, if
// maxDamaged files were renamed already, or if err says something else.
func (c *fileFormat[T]) renameIfDamaged(root *os.Root, name string, err error) (aside string, moved bool) {
	if damaged := (*damagedError)(nil); c.keepDamaged || !errors.As(err, &damaged) {
		return "", false
	}
	aside = name + damagedSuffix
	if _, err := root.Lstat(aside); err != nil {
		if c.noMoreAside = c.noMoreAside || countSetAsideFiles(root) >= maxDamaged; c.noMoreAside {
			return "", false
		}
	}
	return aside, root.Rename(name, aside) == nil
}

// countSetAsideFiles returns how many damaged files were renamed. It returns maxDamaged if the directory cannot
// be opened.
func countSetAsideFiles(root *os.Root) (n int) {
	dir, err := root.Open(".")
	if err != nil {
		return maxDamaged
	}
	defer func() { _ = dir.Close() }()
	entries, _ := dir.ReadDir(3 * MaxFiles) // Unreadable entries do not count.
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), damagedSuffix) {
			n++
		}
	}
	return n
}

// The last field of a file is the SHA-256 checksum of the text without it. A byte that the disk has
// changed may still be valid JSON, with another image or another exit code.
const (
	checksumField = `,"sum":"`
	checksumSize  = int64(len(checksumField) + 2*sha256.Size + len(`"`))
)

// appendChecksum returns a copy of a JSON object with a checksum as its last field. An older version of this
// package ignores that field.
func appendChecksum(text []byte) []byte {
	return fmt.Appendf(text[:len(text)-1:len(text)-1], `%s%x"}`, checksumField, sha256.Sum256(text))
}

// verifyChecksum returns an error if a text has a checksum and has changed since it was written. A text without
// a checksum is valid: an older version of this package or a person has written it.
func verifyChecksum(text []byte) error {
	text = bytes.TrimSpace(text)
	at := len(text) - int(checksumSize) - len("}")
	if at < 0 || !bytes.HasPrefix(text[at:], []byte(checksumField)) || bytes.Equal(appendChecksum(append(slices.Clone(text[:at]), '}')), text) {
		return nil
	}
	return errors.New("it has changed since it was written; if you have edited it, remove its field sum")
}

// takeReadValue returns the value that was read for a pod at the start, and removes it from the store. It
// returns nil if there is none. The file stays.
func (s *fileStore[T]) takeReadValue(uid types.UID) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	value := s.mu.found[uid]
	delete(s.mu.found, uid)
	return value
}

// writeFile writes the checkpoint file of a pod atomically, with a checksum. It also drops the value that was
// read from the file at the start. It returns when the file is complete on disk. It returns an error for an
// invalid UID.
func (s *fileStore[T]) writeFile(uid types.UID, text []byte) error {
	name, err := fileName(uid)
	if err != nil {
		return err
	}
	defer s.locks.Lock(uid)()
	s.recordFileAndDropReadValue(uid, true)
	root, err := osfile.OpenDir(s.root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return osfile.ReplaceFile(root, name, temporaryName(name), appendChecksum(text))
}

// removeFileIf removes the file of a pod if mayRemove returns true, and drops the value that was read at the
// start. It does nothing if the pod has no file. It calls mayRemove while no file of the UID is being written.
func (s *fileStore[T]) removeFileIf(uid types.UID, mayRemove func(types.UID) bool) error {
	defer s.locks.Lock(uid)()
	if !mayRemove(uid) {
		return nil
	}
	s.mu.Lock()
	kept := s.mu.kept[uid]
	s.mu.Unlock()
	name, err := fileName(uid)
	if err != nil || !kept {
		return nil
	}
	if err := os.Remove(filepath.Join(s.root, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	s.recordFileAndDropReadValue(uid, false)
	return nil
}

// removeFileDurablyIf is removeFileIf. After a nil error no file that this store has removed comes back after a power
// failure. It syncs the directory if a file was removed since the last sync, and at its first call.
func (s *fileStore[T]) removeFileDurablyIf(uid types.UID, mayRemove func(types.UID) bool) error {
	if err := s.removeFileIf(uid, mayRemove); err != nil {
		return err
	}
	s.mu.Lock()
	needed, removed := s.mu.removals.needsSync(), s.mu.removals.removed
	s.mu.Unlock()
	if !needed {
		return nil
	}
	if err := s.syncDir(s.root); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.removals.recordSync(removed)
	return nil
}

// alwaysTrue is a filter that accepts every pod.
func alwaysTrue(types.UID) bool { return true }

// recordFileAndDropReadValue records that the file of a pod was written or removed. It also drops the value that was
// read for the pod at the start.
func (s *fileStore[T]) recordFileAndDropReadValue(uid types.UID, hasFile bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.found, uid)
	if hasFile {
		s.mu.kept[uid] = true
		return
	}
	delete(s.mu.kept, uid)
	s.mu.removals.removed++
}

// storedUIDs returns the first limit UIDs, in sorted order, of the pods that have a file and for which filter
// returns true. filter is called without a lock.
func (s *fileStore[T]) storedUIDs(filter func(types.UID) bool, limit int) (uids []types.UID) {
	s.mu.Lock()
	all := slices.Sorted(maps.Keys(s.mu.kept))
	s.mu.Unlock()
	for _, uid := range all {
		if len(uids) < limit && filter(uid) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// terminalStatus is the content of a file: the terminal status of one pod.
type terminalStatus struct {
	header
	Status v1.PodStatus `json:"status"`
}

// version is written into every file. Files of other versions are not read.
const version = 1

const extension = ".json"

// fileName returns the name of a pod's file. It returns an error for an invalid UID.
func fileName(uid types.UID) (string, error) {
	if err := podspec.CheckUID(uid); err != nil {
		return "", err
	}
	return string(uid) + extension, nil
}

// temporaryName returns the hidden name that a file has while it is being written.
func temporaryName(name string) string { return "." + strings.TrimSuffix(name, extension) }

// encodeTerminalStatus returns the content of the file for a terminal status. It leaves out the container
// statuses if the file would be larger than MaxSize. It returns an error if the file is still too large or
// could not be decoded again.
func encodeTerminalStatus(pod *v1.Pod, status *v1.PodStatus) ([]byte, error) {
	e := terminalStatus{header: newHeader(pod), Status: *status}
	text, err := json.Marshal(&e)
	if err == nil && len(text) > MaxSize {
		e.Status.InitContainerStatuses, e.Status.ContainerStatuses, e.Status.EphemeralContainerStatuses = nil, nil, nil
		text, err = json.Marshal(&e)
	}
	if err == nil && len(text) > MaxSize {
		return nil, tooLargeError()
	}
	if err == nil { // A time after the year 9999 can be written but not read.
		err = json.Unmarshal(text, &terminalStatus{})
	}
	return text, err
}

// decodeTerminalStatus parses the file with the terminal status of one pod. It returns an error if the file has
// another version, if its UID does not belong to the file name, or if its phase is not terminal.
func decodeTerminalStatus(name string, text []byte) (types.UID, *terminalStatus, error) {
	var e terminalStatus
	if err := json.Unmarshal(text, &e); err != nil {
		return "", nil, err
	}
	if err := e.checkForFileName(name); err != nil {
		return "", nil, err
	}
	if !podstatus.IsTerminal(e.Status.Phase) {
		return "", nil, fmt.Errorf("its phase is %.20q: expected Succeeded or Failed", string(e.Status.Phase))
	}
	return e.UID, &e, nil
}

// tooLargeError returns the error for a file above MaxSize.
func tooLargeError() error { return fmt.Errorf("it has more than %d bytes", MaxSize) }

// listFilesAndRemoveUnfinished returns the sorted names of the files to read, at most MaxFiles, and removes
// files whose writing was interrupted. If there are more files, it returns the first ones with an error.
func listFilesAndRemoveUnfinished(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(2 * MaxFiles)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	var names []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, ".") && e.Type().IsRegular():
			_ = root.Remove(name)
		case strings.HasSuffix(name, extension):
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if err == nil && (len(names) > MaxFiles || len(entries) == 2*MaxFiles) {
		names, err = names[:min(len(names), MaxFiles)], fmt.Errorf("there are more than %d of them", MaxFiles)
	}
	return names, err
}
