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

// record says that this node made a directory for the logs of a pod.
type record struct {
	id   string    // of its file, and the owner of the directory in the trash
	Root string    `json:"root"`
	Name string    `json:"name"` // of the directory in Root
	Pod  string    `json:"pod"`  // NAMESPACE_NAME_UID
	UID  types.UID `json:"uid"`
	Made bool      `json:"made"` // false: the node was about to make it, and may have
}

// path is where the directory is.
func (r record) path() string { return filepath.Join(r.Root, r.Name) }

// records are the directories that this node made in directories that it shares. A record is on
// the disk before its directory is made, and goes after it.
type records struct {
	dir string

	mu     sync.Mutex
	loaded bool
	known  map[string]record // by id
}

const (
	recordEnd = ".json"
	// longestFile bounds a file of a record. A path has up to 4,096 bytes, and JSON writes six for one.
	longestFile = 32 << 10
)

// list returns the records that a filter takes, in an order that does not change.
func (s *records) list(takes func(record) bool) ([]record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.loadLocked(); err != nil {
		return nil, err
	}
	var found []record
	for _, r := range s.known {
		if takes(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b record) int { return strings.Compare(a.path(), b.path()) })
	return found, nil
}

// add stores a new record, which gets its id.
func (s *records) add(r record) (record, error) {
	r.id = rand.Text()
	return r, s.put(r)
}

// put stores a record durably.
func (s *records) put(r record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.loadLocked(); err != nil {
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

// remove removes a record.
func (s *records) remove(r record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Remove(filepath.Join(s.dir, r.id+recordEnd)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(s.known, r.id)
	return nil
}

// writeLocked replaces the file of a record as a whole.
func (s *records) writeLocked(id string, text []byte) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	dir, err := osfile.OpenDir(s.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	part := "." + id
	f, err := dir.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = dir.Rename(part, id+recordEnd)
	}
	if err != nil {
		_ = dir.Remove(part)
		return err
	}
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync() // Not every system can; without it a power cut may lose the record.
	return nil
}

// loadLocked reads the records of an earlier agent, once. A record that cannot be read is left
// alone, with its directory.
func (s *records) loadLocked() error {
	if s.loaded {
		return nil
	}
	known := make(map[string]record)
	dir, err := osfile.OpenDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		s.known, s.loaded = known, true
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	err = each(dir, func(e fs.DirEntry) bool {
		if id, ok := strings.CutSuffix(e.Name(), recordEnd); ok {
			if r, ok := readRecord(dir, e.Name()); ok {
				r.id = id
				known[id] = r
			}
		} else if strings.HasPrefix(e.Name(), ".") && e.Type().IsRegular() {
			_ = dir.Remove(e.Name()) // Of an agent that ended while it wrote; it can stay.
		}
		return true
	})
	if err != nil {
		return err
	}
	s.known, s.loaded = known, true
	return nil
}

func readRecord(dir *os.Root, name string) (r record, ok bool) {
	f, err := osfile.OpenFile(dir, name, os.O_RDONLY, 0)
	if err != nil {
		return record{}, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestFile))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return record{}, false
	}
	return r, filepath.IsAbs(r.Root) && filepath.Base(r.Name) == r.Name && r.Name != "." && r.Name != ".." && r.UID != ""
}
