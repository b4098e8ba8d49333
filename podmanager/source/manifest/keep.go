package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/podkeel/podkeel/internal/osfile"
)

const (
	// keptURL is the file in a state directory with what a server has; those with what a file
	// has begin with keptFile.
	keptURL, keptFile = "manifest-url.json", "manifest-file-"
	// maxKept bounds that file: a body as text, and what is around it.
	maxKept = MaxFileSize/3*4 + 1<<16
	// keptVersion is that of its form.
	keptVersion = 1
)

// errDamaged is a file that is not as it was written.
var errDamaged = errors.New("is damaged")

// kept is the last good answer of a server, or the last good version of a file.
type kept struct {
	Version int    `json:"version"`
	URL     string `json:"url"` // or the path, as a hash: it may have secrets
	ETag    string `json:"etag,omitempty"`
	Sum     string `json:"sum"` // of the body
	Body    []byte `json:"body"`
	// UIDs is the version of the rule by which the pods got their UIDs. Versions of this package that
	// did not write it had formerUIDs.
	UIDs int `json:"uids,omitempty"`
}

// The rules of UIDs. A file keeps its rule for as long as it is there, so that an upgrade restarts no
// pod.
const (
	// formerUIDs: an item of a PodList without a type has another UID than the same pod with one.
	formerUIDs = 0
	// currentUIDs: they have one UID.
	currentUIDs = 2
)

// uidRule returns the rule of a file.
func uidRule(former bool) int {
	if former {
		return formerUIDs
	}
	return currentUIDs
}

// keeper keeps the last good version of what a URL or a path has, as a file of a directory.
type keeper struct{ dir, name, of string }

// keeperOf is that of a file.
func keeperOf(dir, path string) keeper {
	return keeper{dir, keptFile + hexSum([]byte(path)) + ".json", path}
}

func hexSum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// load returns the saved version. Its body is nil if there is none, or if it is of another source.
func (k keeper) load() (was kept, err error) {
	if k.dir == "" {
		return kept{}, nil
	}
	root, err := osfile.OpenDir(k.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, nil
	}
	if err != nil {
		return kept{}, err
	}
	defer func() { _ = root.Close() }()
	f, err := osfile.OpenFile(root, k.name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, nil
	}
	if err != nil {
		return kept{}, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxKept+1))
	if err != nil {
		return kept{}, err
	}
	return k.parse(text)
}

// parse reads the file.
func (k keeper) parse(text []byte) (was kept, err error) {
	switch err := json.Unmarshal(text, &was); {
	case len(text) > maxKept, err != nil, was.Version != keptVersion, hexSum(was.Body) != was.Sum:
		return kept{}, fmt.Errorf("the file %s %w", k.name, errDamaged)
	case was.URL == hexSum([]byte(k.of)):
		was.Body = append([]byte{}, was.Body...)
		return was, nil
	case k.name != keptURL: // The name of the file is made of the path: it cannot be that of another one.
		return kept{}, fmt.Errorf("the file %s %w", k.name, errDamaged)
	}
	return kept{}, nil
}

// save puts an answer in the place of the last one. After a power failure there is the one or
// the other.
func (k keeper) save(etag string, body []byte, former bool) error {
	if k.dir == "" {
		return nil
	}
	text, err := json.Marshal(kept{keptVersion, hexSum([]byte(k.of)), etag, hexSum(body), body, uidRule(former)})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(k.dir, 0o750); err != nil {
		return err
	}
	root, err := osfile.OpenDir(k.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := replace(root, k.name, text); err != nil {
		return fmt.Errorf("saving %s: %w", k.name, err)
	}
	return nil
}

// remove removes what was saved, if anything was.
func (k keeper) remove() error {
	if err := os.Remove(filepath.Join(k.dir, k.name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replace writes the file beside its place and renames it.
func replace(root *os.Root, name string, text []byte) (err error) {
	newName := "." + name
	defer func() {
		if err != nil {
			_ = root.Remove(newName)
		}
	}()
	_ = root.Remove(newName) // Of a write that was cut short.
	f, err := root.OpenFile(newName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := root.Rename(newName, name); err != nil {
		return err
	}
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	_ = dir.Sync() // Not every system can; without it a power cut may lose the file.
	return dir.Close()
}
