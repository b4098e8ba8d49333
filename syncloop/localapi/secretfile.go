package localapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/podkeel/podkeel/internal/document"
	"github.com/podkeel/podkeel/internal/osfile"
)

// maxSecret bounds a file with credentials, in bytes.
const maxSecret = 1 << 20

// ErrForeignFile says that there is a file in the place of the kubeconfig that NewService may not
// replace: it is not one that a Service has written, or others have added to it.
var ErrForeignFile = errors.New("the file is not a kubeconfig of this program alone and would be lost; choose another file, and name it in the variable KUBECONFIG, or remove this one")

var errNotRegular = errors.New("it is no regular file")

// KeepCredentials returns the credentials that a file has, so that kubeconfig files stay valid over
// restarts. If there is no such file, it makes new ones and writes them there, with mode 0600; the
// directory must exist. A symbolic link at its place is an error, and others lose the right to read it.
// The error is ErrBadCredentials if the file is damaged or its CA is no longer valid: see
// [ReplaceCredentials].
func KeepCredentials(path string) (*Credentials, error) {
	text, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = newSecret(path)
	}
	if err != nil {
		return nil, fmt.Errorf("localapi: %s: %w", path, err)
	}
	secrets, err := ParseCredentials(text)
	if err != nil {
		err = fmt.Errorf("%s: %w; remove the file to have new ones", path, err)
	}
	return secrets, err
}

// ReplaceCredentials makes new credentials and writes them to a file of mode 0600, in place of the old
// file. Clients then need the new kubeconfig.
func ReplaceCredentials(path string) (*Credentials, error) {
	text, err := newSecret(path)
	if err != nil {
		return nil, fmt.Errorf("localapi: %s: %w", path, err)
	}
	return ParseCredentials(text)
}

// newSecret writes a file of new credentials, and returns what is in it.
func newSecret(path string) ([]byte, error) {
	secrets, err := NewCredentials()
	if err != nil {
		return nil, err
	}
	text, err := secrets.Marshal()
	if err == nil {
		err = writeSecret(path, text)
	}
	return text, err
}

// writeSecret puts a file of mode 0600 in its place, in place of what was there.
func writeSecret(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".podkeel-*") // Of mode 0600.
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// isSecret reports whether a file is there already, with this text, and for its owner only.
func isSecret(path string, text []byte) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() != int64(len(text)) {
		return false
	}
	is, err := os.ReadFile(path)
	return err == nil && bytes.Equal(is, text)
}

// readSecret reads a regular file, and takes the rights of others from it.
func readSecret(path string) ([]byte, error) {
	dir, err := osfile.OpenDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	f, err := osfile.OpenFile(dir, filepath.Base(path), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = f.Chmod(0o600) // If it is not ours, it can be read at least.
	}
	return io.ReadAll(io.LimitReader(f, maxSecret))
}

// replaceable is nil if a kubeconfig may be written at a path: nothing is there, or one that
// this program has written. The contexts of other clusters are not its to remove, nor a device.
func replaceable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errNotRegular
	case info.Size() > maxSecret:
		return ErrForeignFile
	}
	text, err := os.ReadFile(path)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return err
	}
	type named []struct {
		Name string `json:"name"`
	}
	var has struct{ Clusters, Users, Contexts named }
	converted, _, faults := document.JSON(text, document.Bounds{Bytes: maxSecret, Memory: maxSecret})
	if len(faults) > 0 || json.Unmarshal(converted, &has) != nil || len(has.Clusters) != 1 {
		return ErrForeignFile
	}
	for _, list := range []named{has.Clusters, has.Users, has.Contexts} {
		if len(list) > 1 || len(list) == 1 && list[0].Name != "podkeel" {
			return ErrForeignFile
		}
	}
	return nil
}
