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

// header is what every file begins with: whose it is.
type header struct {
	Version   int       `json:"version"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	PodHash   string    `json:"shape"`
}

func headerOf(pod *v1.Pod) header {
	return header{Version: version, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, PodHash: podsync.PodHash(pod)}
}

// check says why a file of a name cannot have this header.
func (h *header) check(name string) error {
	own, err := fileName(h.UID)
	switch {
	case h.Version != version:
		return fmt.Errorf("it is of version %d: expected %d", h.Version, version)
	case err != nil:
		return err
	case own != name:
		return fmt.Errorf("it is of the pod %s, which has another file", h.UID)
	}
	return nil
}

// isOf reports whether the file is of this pod, and not of another one that had its
// UID before.
func (h *header) isOf(pod *v1.Pod) bool {
	return h.UID == pod.UID && h.Namespace == pod.Namespace && h.Name == pod.Name && podsync.MatchesPodHash(pod, h.PodHash)
}

// store has a file for each of some pods, in one directory. What was found in it at
// the beginning is handed out once.
type store[T any] struct {
	root   string
	unread error // why not all was read that was there at the beginning
	// locks are held while the file of a pod is written, or removed.
	locks keylock.Locks[types.UID]
	mu    struct {
		sync.Mutex
		found map[types.UID]*T   // at the beginning, not taken yet
		kept  map[types.UID]bool // there is a file
	}
}

// contents is how the files of a store are read, and what is logged of those that
// cannot be.
type contents[T any] struct {
	decode           func(name string, text []byte) (types.UID, *T, error)
	badRoot, badFile string
	// keepDamaged leaves damaged files in their place, where each start finds them.
	keepDamaged bool
	fullAside   bool // maxDamaged files were set aside
}

// open reads what an agent before this one has left.
func (s *store[T]) open(cfg Config, c contents[T]) error {
	if !filepath.IsAbs(cfg.Root) {
		return fmt.Errorf("checkpoint: Config.Root is no absolute path: %q", cfg.Root)
	}
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if err := os.MkdirAll(cfg.Root, 0o700); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	s.root = cfg.Root
	s.mu.found, s.mu.kept = make(map[types.UID]*T), make(map[types.UID]bool)
	root, err := osfile.OpenDir(s.root)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer func() { _ = root.Close() }()
	names, err := list(root)
	if err != nil {
		log.Error(c.badRoot, "dir", s.root, "err", err)
		s.unread = fmt.Errorf("checkpoint: %s: %w", s.root, err)
	}
	for _, name := range names {
		uid, value, err := c.read(root, name)
		if err != nil {
			attrs := []any{"file", filepath.Join(s.root, name), "err", err}
			if aside, moved := c.setAside(root, name, err); moved {
				attrs = append(attrs, "movedTo", filepath.Join(s.root, aside))
			}
			log.Error(c.badFile, attrs...)
			s.unread = cmp.Or(s.unread, fmt.Errorf("checkpoint: %s: %w", filepath.Join(s.root, name), err))
			continue
		}
		s.mu.found[uid], s.mu.kept[uid] = value, true
	}
	return nil
}

// read reads one of the files, if it is a regular one, whoever may be replacing it.
func (c *contents[T]) read(root *os.Root, name string) (types.UID, *T, error) {
	f, err := osfile.OpenFile(root, name, os.O_RDONLY, 0)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+sumSize+1))
	switch {
	case err != nil:
		return "", nil, err
	case int64(len(text)) > MaxSize+sumSize:
		return "", nil, tooLarge()
	}
	uid, value, err := c.decode(name, text)
	if err == nil {
		err = checkSum(text)
	}
	if err != nil && isDamaged(text) {
		err = &damagedError{err}
	}
	return uid, value, err
}

// damagedError is an error of a file that is not as this package, of whichever version, wrote it.
type damagedError struct{ error }

func (e *damagedError) Unwrap() error { return e.error }

// isDamaged reports whether a text is no JSON object with a version, or has another sum. A file of
// another version is not damaged: that version can read it.
func isDamaged(text []byte) bool {
	var h struct {
		Version int `json:"version"`
	}
	return json.Unmarshal(text, &h) != nil || h.Version == version && checkSum(text) != nil
}

const (
	// damagedEnd is what the name of a damaged file gets when the file is set aside.
	damagedEnd = ".damaged"
	// maxDamaged is how many files are set aside in one directory. Further ones stay in their place.
	maxDamaged = 16
)

// setAside renames a file if err says that it is damaged, so that no later start reads it.
func (c *contents[T]) setAside(root *os.Root, name string, err error) (aside string, moved bool) {
	if damaged := (*damagedError)(nil); c.keepDamaged || !errors.As(err, &damaged) {
		return "", false
	}
	aside = name + damagedEnd
	if _, err := root.Lstat(aside); err != nil {
		if c.fullAside = c.fullAside || countDamaged(root) >= maxDamaged; c.fullAside {
			return "", false
		}
	}
	return aside, root.Rename(name, aside) == nil
}

// countDamaged returns how many files were set aside.
func countDamaged(root *os.Root) (n int) {
	dir, err := root.Open(".")
	if err != nil {
		return maxDamaged
	}
	defer func() { _ = dir.Close() }()
	entries, _ := dir.ReadDir(3 * MaxFiles) // Those that can be read.
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), damagedEnd) {
			n++
		}
	}
	return n
}

// The last field of a file is the sum of the text without it: a byte that the disk has changed
// may leave good JSON of another image, or of another exit code.
const (
	sumField = `,"sum":"`
	sumSize  = int64(len(sumField) + 2*sha256.Size + len(`"`))
)

// withSum adds the sum to a JSON object. An older version of this package ignores it.
func withSum(text []byte) []byte {
	return fmt.Appendf(text[:len(text)-1:len(text)-1], `%s%x"}`, sumField, sha256.Sum256(text))
}

// checkSum is an error if a text is not as it was written. One without a sum is of an older
// version of this package, or was written by hand.
func checkSum(text []byte) error {
	text = bytes.TrimSpace(text)
	at := len(text) - int(sumSize) - len("}")
	if at < 0 || !bytes.HasPrefix(text[at:], []byte(sumField)) || bytes.Equal(withSum(append(slices.Clone(text[:at]), '}')), text) {
		return nil
	}
	return errors.New("it has changed since it was written: if that was meant, remove its field sum")
}

// take hands out what was found of a pod; nil if nothing was, or it was taken.
func (s *store[T]) take(uid types.UID) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	value := s.mu.found[uid]
	delete(s.mu.found, uid)
	return value
}

// save writes the file of a pod. It is over when that is on the disk, whole and in its
// place.
func (s *store[T]) save(uid types.UID, text []byte) error {
	name, err := fileName(uid)
	if err != nil {
		return err
	}
	defer s.locks.Lock(uid)()
	s.note(uid, true)
	root, err := osfile.OpenDir(s.root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return write(root, name, withSum(text))
}

// remove removes the file of a pod, if there is one and gone answers true. gone is
// asked while no save of the UID is under way.
func (s *store[T]) remove(uid types.UID, gone func(types.UID) bool) error {
	defer s.locks.Lock(uid)()
	if !gone(uid) {
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
	s.note(uid, false)
	return nil
}

func always(types.UID) bool { return true }

// note says whether there is a file of a pod. What was found of it is of the past in
// any case.
func (s *store[T]) note(uid types.UID, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.found, uid)
	if kept {
		s.mu.kept[uid] = true
		return
	}
	delete(s.mu.kept, uid)
}

// pods lists pods that have a file and for which of answers true, in order, at most
// limit of them. of is called with no lock held.
func (s *store[T]) pods(of func(types.UID) bool, limit int) (uids []types.UID) {
	s.mu.Lock()
	all := slices.Sorted(maps.Keys(s.mu.kept))
	s.mu.Unlock()
	for _, uid := range all {
		if len(uids) < limit && of(uid) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// ending is how one pod has ended, as it is in its file.
type ending struct {
	header
	Status v1.PodStatus `json:"status"`
}

// version is that of files that are written. Others are not read: how they were
// meant is not known.
const version = 1

const extension = ".json"

// fileName is the name of a pod's file.
func fileName(uid types.UID) (string, error) {
	if err := podspec.CheckUID(uid); err != nil {
		return "", err
	}
	return string(uid) + extension, nil
}

// temporary is the name of a file that is being written.
func temporary(name string) string { return "." + strings.TrimSuffix(name, extension) }

func encode(pod *v1.Pod, status *v1.PodStatus) ([]byte, error) {
	e := ending{header: headerOf(pod), Status: *status}
	text, err := json.Marshal(&e)
	if err == nil && len(text) > MaxSize {
		e.Status.InitContainerStatuses, e.Status.ContainerStatuses, e.Status.EphemeralContainerStatuses = nil, nil, nil
		text, err = json.Marshal(&e)
	}
	if err == nil && len(text) > MaxSize {
		return nil, tooLarge()
	}
	if err == nil { // A time after the year 9999 is written, and not read.
		err = json.Unmarshal(text, &ending{})
	}
	return text, err
}

func decode(name string, text []byte) (types.UID, *ending, error) {
	var e ending
	if err := json.Unmarshal(text, &e); err != nil {
		return "", nil, err
	}
	if err := e.check(name); err != nil {
		return "", nil, err
	}
	if !podstatus.IsTerminal(e.Status.Phase) {
		return "", nil, fmt.Errorf("its phase is %.20q: expected Succeeded or Failed", string(e.Status.Phase))
	}
	return e.UID, &e, nil
}

func tooLarge() error { return fmt.Errorf("it has more than %d bytes", MaxSize) }

// list returns the names of all files that should be terminal statuses, in order, and removes
// what was not finished.
func list(root *os.Root) ([]string, error) {
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

// write puts a whole file in its place. What lies there, a link too, is replaced.
func write(root *os.Root, name string, text []byte) error {
	hidden := temporary(name)
	_ = root.Remove(hidden) // Of a write that was cut short.
	f, err := root.OpenFile(hidden, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(hidden, name)
	}
	if err != nil {
		_ = root.Remove(hidden)
		return err
	}
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	_ = dir.Sync() // Not every system can; without it a power cut may lose the file.
	return dir.Close()
}
