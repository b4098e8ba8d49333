package cri

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ownerName is the file's.
const ownerName = "owner"

// OwnerFile returns the owner kept in a directory, in which only the agent may write,
// and makes one up if there is none. Losing this file orphans the node's pods. Two
// programs that ask at once get the same.
func OwnerFile(dir string) (string, error) {
	path := filepath.Join(dir, ownerName)
	owner, err := readOwner(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return owner, err
	}
	if err := writeOwner(dir, path, rand.Text()); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("cri: %w", err)
	}
	return readOwner(path)
}

func readOwner(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cri: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, 2*longestOwner))
	if err != nil {
		return "", fmt.Errorf("cri: %w", err)
	}
	owner := strings.TrimSpace(string(text))
	if !validOwner(owner) {
		return "", fmt.Errorf("cri: %s is not the file of an owner: %q", path, owner)
	}
	return owner, nil
}

// writeOwner puts a whole file in place, or finds that there is one already:
// a link, unlike a rename, replaces nothing.
func writeOwner(dir, path, owner string) error {
	f, err := os.CreateTemp(dir, "."+ownerName+"-*") // of mode 0600, and new
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(owner + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	_ = d.Sync() // Not every system can; without it a power cut may lose the file.
	return nil
}
