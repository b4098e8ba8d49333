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
	// savedURLFile is the file in a state directory with the answer of a server. The names of files with the version of
	// a manifest file begin with savedFilePrefix.
	savedURLFile, savedFilePrefix = "manifest-url.json", "manifest-file-"
	// maxSavedSize bounds such a file: the body in base64, and the fields around it.
	maxSavedSize = MaxFileSize/3*4 + 1<<16
	// savedFormatVersion is the version of the format.
	savedFormatVersion = 1
)

// errDamaged means that a saved file was changed after it was written.
var errDamaged = errors.New("is damaged")

// savedVersion is the last good answer of a server, or the last good version of a file.
type savedVersion struct {
	Version int    `json:"version"`
	URL     string `json:"url"` // the SHA-256 of the URL or the path, which may have secrets
	ETag    string `json:"etag,omitempty"`
	Sum     string `json:"sum"` // the SHA-256 of the body
	Body    []byte `json:"body"`
	// UIDs is the version of the rule by which the pods got their UIDs. Earlier versions of this package did not write
	// the field and used legacyUIDs.
	UIDs int `json:"uids,omitempty"`
}

// The versions of the rule for UIDs. A file keeps its rule as long as it exists, so that an upgrade restarts no pod.
const (
	// legacyUIDs: an item of a PodList without apiVersion and kind has another UID than the same pod with them.
	legacyUIDs = 0
	// currentUIDs: both have the same UID.
	currentUIDs = 2
)

// uidRuleVersion returns the number of the rule that computes the UIDs of a file's pods. It returns legacyUIDs
// if legacy is true, and currentUIDs if not.
func uidRuleVersion(legacy bool) int {
	if legacy {
		return legacyUIDs
	}
	return currentUIDs
}

// versionStore saves the last good version of a URL or a path in a file of the state directory.
type versionStore struct{ dir, name, source string }

// fileVersionStore returns the store for the last good version of a manifest file. The name of the saved file
// is derived from the path.
func fileVersionStore(dir, path string) versionStore {
	return versionStore{dir, savedFilePrefix + hexSHA256([]byte(path)) + ".json", path}
}

// hexSHA256 returns the SHA-256 of a text in hexadecimal.
func hexSHA256(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// loadUnlessSavedForOtherURL reads the saved version of the manifest. The body is nil if there is no directory
// or no saved file, or if the file was saved for another URL. It returns an error if the file is damaged or
// cannot be read.
func (k versionStore) loadUnlessSavedForOtherURL() (saved savedVersion, err error) {
	if k.dir == "" {
		return savedVersion{}, nil
	}
	root, err := osfile.OpenDir(k.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return savedVersion{}, nil
	}
	if err != nil {
		return savedVersion{}, err
	}
	defer func() { _ = root.Close() }()
	f, err := osfile.OpenFile(root, k.name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return savedVersion{}, nil
	}
	if err != nil {
		return savedVersion{}, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxSavedSize+1))
	if err != nil {
		return savedVersion{}, err
	}
	return k.parseUnlessOtherURL(text)
}

// parseUnlessOtherURL decodes the content of a saved file and checks its size, format and checksum. If it was
// saved for another URL, it returns a zero version and no error.
func (k versionStore) parseUnlessOtherURL(text []byte) (saved savedVersion, err error) {
	switch err := json.Unmarshal(text, &saved); {
	case len(text) > maxSavedSize, err != nil, saved.Version != savedFormatVersion, hexSHA256(saved.Body) != saved.Sum:
		return savedVersion{}, fmt.Errorf("the file %s %w", k.name, errDamaged)
	case saved.URL == hexSHA256([]byte(k.source)):
		saved.Body = append([]byte{}, saved.Body...)
		return saved, nil
	case k.name != savedURLFile: // The file name is derived from the path, so no other path has the same file name.
		return savedVersion{}, fmt.Errorf("the file %s %w", k.name, errDamaged)
	}
	return savedVersion{}, nil
}

// saveAtomicallyIfDirSet replaces the saved version of the manifest. After a power failure the file has either
// the old version or the new one. It creates a missing directory. If the store has no directory, it does
// nothing and returns nil.
func (k versionStore) saveAtomicallyIfDirSet(etag string, body []byte, hasLegacyUIDs bool) error {
	if k.dir == "" {
		return nil
	}
	text, err := json.Marshal(savedVersion{savedFormatVersion, hexSHA256([]byte(k.source)), etag, hexSHA256(body), body, uidRuleVersion(hasLegacyUIDs)})
	if err != nil {
		return err
	}
	if err := osfile.MkdirAll(k.dir, 0o750); err != nil {
		return err
	}
	root, err := osfile.OpenDir(k.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := osfile.ReplaceFile(root, k.name, "."+k.name, text); err != nil {
		return fmt.Errorf("saving %s: %w", k.name, err)
	}
	return nil
}

// removeSavedVersionIfAny deletes the saved version of the manifest. It returns nil if there is none.
func (k versionStore) removeSavedVersionIfAny() error {
	if err := os.Remove(filepath.Join(k.dir, k.name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
