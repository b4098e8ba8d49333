package logfiles

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
)

// directoryRecord records that this node created a directory for the logs of a pod.
type directoryRecord struct {
	id   string    // of its file, and the owner name of the directory in the trash
	Root string    `json:"root"`
	Name string    `json:"name"` // of the directory in Root
	Pod  string    `json:"pod"`  // NAMESPACE_NAME_UID
	UID  types.UID `json:"uid"`
	Made bool      `json:"made"` // false: the node was about to create it, and may have
}

// path returns the path of the recorded log directory.
func (r directoryRecord) path() string { return filepath.Join(r.Root, r.Name) }

// directoryRecords are the records of the directories that this node created in a shared root. A
// record is written before its directory is created, and removed after it.
type directoryRecords struct {
	dir string

	mu     sync.Mutex
	loaded bool
	known  map[string]directoryRecord // by id
}

const (
	recordSuffix = ".json"
	// maxRecordBytes limits the file of a record. A path has up to 4,096 bytes, and JSON escapes a
	// byte with six.
	maxRecordBytes = 32 << 10
)

// list returns the directory records for which matches returns true, sorted by path. The first use reads the
// records from the disk.
func (s *directoryRecords) list(matches func(directoryRecord) bool) ([]directoryRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.loadOnceLocked(); err != nil {
		return nil, err
	}
	var found []directoryRecord
	for _, r := range s.known {
		if matches(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b directoryRecord) int { return strings.Compare(a.path(), b.path()) })
	return found, nil
}

// addWithNewID gives a directory record a new random ID, stores it on the disk, and returns it with that ID.
func (s *directoryRecords) addWithNewID(r directoryRecord) (directoryRecord, error) {
	r.id = rand.Text()
	return r, s.put(r)
}

// put stores a directory record on the disk and in memory, and replaces a record with the same ID.
func (s *directoryRecords) put(r directoryRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.loadOnceLocked(); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = s.writeLocked(r.id, text)
	}
	if err != nil {
		return fmt.Errorf("record the directory %s: %w", r.path(), err)
	}
	s.known[r.id] = r
	return nil
}

// remove deletes a directory record and its file. It does not delete the recorded directory. A missing file is
// no error.
func (s *directoryRecords) remove(r directoryRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Remove(filepath.Join(s.dir, r.id+recordSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(s.known, r.id)
	return nil
}

// writeLocked replaces the file of a directory record atomically, or creates the file.
func (s *directoryRecords) writeLocked(id string, text []byte) error {
	if err := osfile.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	dir, err := osfile.OpenDir(s.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return osfile.ReplaceFile(dir, id+recordSuffix, "."+id, text)
}

// loadOnceLocked reads the directory records from the disk, unless an earlier call has read them. It ignores a
// record that cannot be read, so that the recorded directory stays. It also deletes temporary files that a
// crash left.
func (s *directoryRecords) loadOnceLocked() error {
	if s.loaded {
		return nil
	}
	known := make(map[string]directoryRecord)
	dir, err := osfile.OpenDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		s.known, s.loaded = known, true
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	err = forEachEntry(dir, func(e fs.DirEntry) bool {
		if id, ok := strings.CutSuffix(e.Name(), recordSuffix); ok {
			if r, ok := readRecord(dir, e.Name()); ok {
				r.id = id
				known[id] = r
			}
		} else if strings.HasPrefix(e.Name(), ".") && e.Type().IsRegular() {
			_ = dir.Remove(e.Name()) // A temporary file of a crashed agent; an error does no harm.
		}
		return true
	})
	if err != nil {
		return err
	}
	s.known, s.loaded = known, true
	return nil
}

// readRecord reads and validates the file of a directory record. It returns false if the file cannot be read or
// its content is invalid.
func readRecord(dir *os.Root, name string) (r directoryRecord, ok bool) {
	f, err := osfile.OpenFile(dir, name, os.O_RDONLY, 0)
	if err != nil {
		return directoryRecord{}, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecordBytes))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return directoryRecord{}, false
	}
	return r, filepath.IsAbs(r.Root) && filepath.Base(r.Name) == r.Name && r.Name != "." && r.Name != ".." && r.UID != ""
}
