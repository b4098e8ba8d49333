package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
)

// The bounds of an object.
const (
	// MaxBytes bounds the keys and values of an object together.
	MaxBytes = 1 << 20
	maxKeys  = 10_000
)

// Files finds objects in the files of a directory.
type Files struct{ dir string }

var _ podsync.Objects = (*Files)(nil)

// NewFiles returns a Files for a directory. It reads nothing yet.
func NewFiles(dir string) (*Files, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("objects: %q is no absolute path", dir)
	}
	return &Files{dir: dir}, nil
}

// ConfigMap implements podsync.Objects.
func (f *Files) ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error) {
	m := &v1.ConfigMap{}
	data, err := f.readObject(ctx, "configmaps", namespace, name, m)
	if err == nil && data == nil {
		err = checkConfigMapIdentityAndSize(m, namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("objects: ConfigMap %s/%s: %w", namespace, name, err)
	}
	if data != nil {
		m.Data = make(map[string]string, len(data))
		for key, value := range data {
			m.Data[key] = string(value)
		}
	}
	m.Namespace, m.Name = namespace, name
	return m, nil
}

// Secret implements podsync.Objects.
func (f *Files) Secret(ctx context.Context, namespace, name string) (*v1.Secret, error) {
	s := &v1.Secret{}
	data, err := f.readObject(ctx, "secrets", namespace, name, s)
	if err == nil && data == nil {
		err = checkSecretIdentityAndSize(s, namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("objects: Secret %s/%s: %w", namespace, name, err)
	}
	if data != nil {
		s.Data = data
	}
	s.Namespace, s.Name = namespace, name
	return s, nil
}

// readObject reads a ConfigMap or Secret from its manifest or its directory. It decodes a manifest into object
// and returns no data. Without a manifest it returns the keys and values of the directory. If there is neither,
// the error is ErrNotFound.
func (f *Files) readObject(ctx context.Context, kind, namespace, name string, object any) (map[string][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, fmt.Errorf("no object can have that name: %w", runtime.ErrNotFound)
	}
	root, err := osfile.OpenDir(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	at := path.Join(kind, namespace, name)
	for _, ending := range [...]string{".yaml", ".yml", ".json"} {
		text, err := readRegularFile(root, at+ending, maxManifest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = decodeManifest(text, object)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at+ending, err)
		}
		return nil, nil
	}
	data, err := readKeyDir(root, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", runtime.ErrNotFound, f.dir)
	}
	return data, err
}

// readKeyDir returns the content of a directory that has one file for each key. It skips names that begin with
// "..". An invalid key, an unreadable file, or more than MaxBytes in total is an error.
func readKeyDir(root *os.Root, dir string) (map[string][]byte, error) {
	names, err := listDir(root, dir)
	if err != nil {
		return nil, err
	}
	data, left := map[string][]byte{}, int64(MaxBytes)
	for _, name := range names {
		if strings.HasPrefix(name, "..") {
			continue
		}
		if bad := validation.IsConfigMapKey(name); len(bad) > 0 {
			return nil, fmt.Errorf("%s: %q is no key: %s", dir, name, bad[0])
		}
		// The file is read through the root, because a link may lead to another directory of the root.
		value, err := readRegularFile(root, path.Join(dir, name), left)
		if err != nil {
			return nil, fmt.Errorf("%s: key %q: %w", dir, name, withoutErrNotExist(err))
		}
		left -= int64(len(value))
		data[name] = value
	}
	return data, nil
}

// withoutErrNotExist returns err, or an error with the same text that is not fs.ErrNotExist. If a key
// disappears during a read, the whole object must not count as missing.
func withoutErrNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New(err.Error())
	}
	return err
}

// listDir returns the names in a directory, in no order. A path that is not a directory, and more than maxKeys
// names, are errors.
func listDir(root *os.Root, dir string) ([]string, error) {
	f, err := osfile.OpenListWithin(root, dir)
	if other, ok := contain.AsType[*osfile.KindError](err); ok {
		return nil, fmt.Errorf("%s: %s: expected a directory with a file for each key", dir, other.Kind)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxKeys + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && len(names) > maxKeys {
		err = fmt.Errorf("more than %d keys", maxKeys)
	}
	return names, err
}

// readRegularFile returns the content of a regular file. A file of another kind, or with more than limit bytes,
// is an error.
func readRegularFile(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := osfile.OpenWithin(root, name)
	if other, ok := contain.AsType[*osfile.KindError](err); ok {
		return nil, notRegularError(other.Kind)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, limit)
}

// notRegularError returns the error for a file that has the given kind and is not a regular file.
func notRegularError(kind string) error { return fmt.Errorf("%s: expected a regular file", kind) }

// readAtMost reads f to its end. It returns an error if f has more than limit bytes.
func readAtMost(f io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it has more than the %d bytes that are left", limit)
	}
	return text, err
}
