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

// What an object has at most.
const (
	// MaxBytes bounds its values.
	MaxBytes = 1 << 20
	maxKeys  = 10_000
)

// Files finds objects in the files of a directory.
type Files struct{ dir string }

var _ podsync.Objects = (*Files)(nil)

// NewFiles makes a Files of a directory. It reads nothing yet.
func NewFiles(dir string) (*Files, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("objects: %q is no absolute path", dir)
	}
	return &Files{dir: dir}, nil
}

// ConfigMap implements podsync.Objects.
func (f *Files) ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error) {
	m := &v1.ConfigMap{}
	data, err := f.find(ctx, "configmaps", namespace, name, m)
	if err == nil && data == nil {
		err = fitsConfigMap(m, namespace, name)
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
	data, err := f.find(ctx, "secrets", namespace, name, s)
	if err == nil && data == nil {
		err = fitsSecret(s, namespace, name)
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

// find reads a manifest into an object, or returns the files of a directory.
func (f *Files) find(ctx context.Context, kind, namespace, name string, into any) (map[string][]byte, error) {
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
		text, err := read(root, at+ending, maxManifest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = decode(text, into)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at+ending, err)
		}
		return nil, nil
	}
	data, err := keys(root, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", runtime.ErrNotFound, f.dir)
	}
	return data, err
}

// keys reads a directory with a file for each key.
func keys(root *os.Root, at string) (map[string][]byte, error) {
	names, err := list(root, at)
	if err != nil {
		return nil, err
	}
	data, left := map[string][]byte{}, int64(MaxBytes)
	for _, name := range names {
		if strings.HasPrefix(name, "..") {
			continue
		}
		if bad := validation.IsConfigMapKey(name); len(bad) > 0 {
			return nil, fmt.Errorf("%s: %q is no key: %s", at, name, bad[0])
		}
		// Through the root: a link may lead to another directory in it.
		value, err := read(root, path.Join(at, name), left)
		if err != nil {
			return nil, fmt.Errorf("%s: key %q: %w", at, name, lasting(err))
		}
		left -= int64(len(value))
		data[name] = value
	}
	return data, nil
}

// lasting is an error that does not say that the object is absent: one of its
// keys was, while it was read.
func lasting(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New(err.Error())
	}
	return err
}

// list lists a directory.
func list(root *os.Root, at string) ([]string, error) {
	f, err := osfile.OpenListWithin(root, at)
	if other, ok := contain.AsType[*osfile.KindError](err); ok {
		return nil, fmt.Errorf("%s: %s: expected a directory with a file for each key", at, other.Kind)
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

// read reads a regular file, if it has no more than so many bytes.
func read(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := osfile.OpenWithin(root, name)
	if other, ok := contain.AsType[*osfile.KindError](err); ok {
		return nil, notRegular(other.Kind)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readUpTo(f, limit)
}

func notRegular(kind string) error { return fmt.Errorf("%s: expected a regular file", kind) }

func readUpTo(f io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it has more than the %d bytes that are left", limit)
	}
	return text, err
}
