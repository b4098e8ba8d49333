package localapi

import (
	"bytes"
	"crypto/rand"
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

// maxSecretBytes bounds a credentials file and a kubeconfig.
const maxSecretBytes = 1 << 20

// ErrForeignFile means that NewService may not replace the kubeconfig file: a Service has not written it, or
// another program has added to it.
var ErrForeignFile = errors.New("the file is not a kubeconfig of this program alone and would be lost; choose another file, and name it in the variable KUBECONFIG, or remove this one")

var errNotRegular = errors.New("not a regular file")

// KeepCredentials reads the credentials in a file, so that kubeconfig files stay valid across restarts. If the file
// does not exist, it generates credentials and writes the file with mode 0600. The directory must exist. A symbolic
// link is an error. KeepCredentials removes the permissions of other users. The error is ErrBadCredentials if the file
// is damaged or the CA has expired: see [ReplaceCredentials].
func KeepCredentials(path string) (*Credentials, error) {
	text, err := readSecretFileAndRestrictMode(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = createSecretFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("localapi: %s: %w", path, err)
	}
	secrets, err := ParseCredentials(text)
	if err != nil {
		err = fmt.Errorf("%s: %w; remove the file to generate new ones", path, err)
	}
	return secrets, err
}

// ReplaceCredentials generates credentials and writes them to a file with mode 0600. It replaces an existing file.
// Clients then need the new kubeconfig.
func ReplaceCredentials(path string) (*Credentials, error) {
	text, err := createSecretFile(path)
	if err != nil {
		return nil, fmt.Errorf("localapi: %s: %w", path, err)
	}
	return ParseCredentials(text)
}

// createSecretFile generates credentials, writes them to a file, and returns the file's content.
func createSecretFile(path string) ([]byte, error) {
	secrets, err := NewCredentials()
	if err != nil {
		return nil, err
	}
	text, err := secrets.Marshal()
	if err == nil {
		err = writeSecretFile(path, text)
	}
	return text, err
}

// writeSecretFile replaces the file at path, or creates it, with mode 0600.
func writeSecretFile(path string, text []byte) error {
	dir, err := osfile.OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return osfile.ReplaceFile(dir, filepath.Base(path), ".podkeel-"+rand.Text(), text)
}

// hasSecretFile reports whether a regular file exists at path with this content, and other users have no
// permission for it.
func hasSecretFile(path string, text []byte) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() != int64(len(text)) {
		return false
	}
	content, err := os.ReadFile(path)
	return err == nil && bytes.Equal(content, text)
}

// readSecretFileAndRestrictMode reads at most maxSecretBytes of a regular file. It also removes the permissions of
// other users if it can.
func readSecretFileAndRestrictMode(path string) ([]byte, error) {
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
		_ = f.Chmod(0o600) // Only the owner can do this; reading works anyway.
	}
	return io.ReadAll(io.LimitReader(f, maxSecretBytes))
}

// checkKubeconfigReplaceable returns nil if a kubeconfig may be written to path: no file exists there, the file
// is empty, or it is a kubeconfig with one cluster and only entries named podkeel. It returns ErrForeignFile
// for a file with other content.
func checkKubeconfigReplaceable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errNotRegular
	case info.Size() > maxSecretBytes:
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
	converted, _, faults := document.JSON(text, document.Bounds{Bytes: maxSecretBytes, Memory: maxSecretBytes})
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
