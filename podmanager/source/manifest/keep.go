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

// load returns what was saved; a nil body if nothing was, or that of another one.
func (k keeper) load() (etag string, body []byte, err error) {
	if k.dir == "" {
		return "", nil, nil
	}
	root, err := osfile.OpenDir(k.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := osfile.OpenFile(root, k.name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxKept+1))
	if err != nil {
		return "", nil, err
	}
	return k.parse(text)
}

// parse reads the file.
func (k keeper) parse(text []byte) (etag string, body []byte, err error) {
	var was kept
	switch err := json.Unmarshal(text, &was); {
	case len(text) > maxKept, err != nil, was.Version != keptVersion, hexSum(was.Body) != was.Sum:
		return "", nil, fmt.Errorf("the file %s %w", k.name, errDamaged)
	case was.URL == hexSum([]byte(k.of)):
		return was.ETag, append([]byte{}, was.Body...), nil
	case k.name != keptURL: // The name of the file is made of the path: it cannot be that of another one.
		return "", nil, fmt.Errorf("the file %s %w", k.name, errDamaged)
	}
	return "", nil, nil
}

// save puts an answer in the place of the last one. After a power failure there is the one or
// the other.
func (k keeper) save(etag string, body []byte) error {
	if k.dir == "" {
		return nil
	}
	text, err := json.Marshal(kept{keptVersion, hexSum([]byte(k.of)), etag, hexSum(body), body})
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
