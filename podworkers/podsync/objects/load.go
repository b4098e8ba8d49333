package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/document"
	"github.com/podkeel/podkeel/internal/osfile"
)

// Load puts in the manifests of a file system that is laid out as the directory
// of NewFiles: configmaps/<namespace>/<name>.yaml and secrets. It is for what is
// embedded into a program, and reads once. Its error names every file that is no
// such manifest; the others are put in.
func (m *Map) Load(from fs.FS) error {
	var faults []error
	for _, kind := range [...]string{"configmaps", "secrets"} {
		names, err := manifests(from, kind)
		faults = append(faults, err)
		for _, name := range names {
			if err := m.loadOne(from, name); err != nil {
				faults = append(faults, fmt.Errorf("objects: %s: %w", name, err))
			}
		}
	}
	return errors.Join(faults...)
}

// manifests lists the files <kind>/<namespace>/<name>.yaml in order. A file
// in the place of a namespace is skipped.
func manifests(from fs.FS, kind string) (names []string, err error) {
	namespaces, err := fs.ReadDir(from, kind)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	faults := []error{err}
	for _, namespace := range namespaces {
		dir := path.Join(kind, namespace.Name())
		if info, err := fs.Stat(from, dir); err != nil || !info.IsDir() { // It may be a link.
			continue
		}
		files, err := fs.ReadDir(from, dir)
		faults = append(faults, err)
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".yaml") {
				names = append(names, path.Join(dir, f.Name()))
			}
		}
	}
	return names, errors.Join(faults...)
}

func (m *Map) loadOne(from fs.FS, file string) error {
	text, err := readFrom(from, file)
	if err != nil {
		return err
	}
	namespace, name := path.Base(path.Dir(file)), strings.TrimSuffix(path.Base(file), ".yaml")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return errors.New("no object can have that name")
	}
	if strings.HasPrefix(file, "secrets/") {
		var o v1.Secret
		if err := decode(text, &o); err != nil {
			return err
		}
		if err := fitsSecret(&o, namespace, name); err != nil {
			return err
		}
		o.Namespace, o.Name = namespace, name
		m.ApplySecret(&o)
		return nil
	}
	var o v1.ConfigMap
	if err := decode(text, &o); err != nil {
		return err
	}
	if err := fitsConfigMap(&o, namespace, name); err != nil {
		return err
	}
	o.Namespace, o.Name = namespace, name
	m.ApplyConfigMap(&o)
	return nil
}

// readFrom reads a regular file up to the bound. It looks before it opens: the file
// system may be a directory of the operating system, with pipes in it.
func readFrom(from fs.FS, file string) ([]byte, error) {
	info, err := fs.Stat(from, file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(osfile.Kind(info.Mode()))
	}
	f, err := from.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readUpTo(f, maxManifest)
}

const (
	// maxManifest bounds the manifest of an object, aliases written out: binary
	// values are a third longer there.
	maxManifest = 2 * MaxBytes
	// maxMemory bounds what it is decoded into.
	maxMemory = 4 * MaxBytes
)

// decode reads the manifest of one object, strictly but for numbers and booleans that
// are to be texts. The error has a line for each fault.
func decode(text []byte, into any) error {
	file, faults := document.Read(text, document.Bounds{Bytes: maxManifest, Memory: maxMemory})
	file.Loose = true
	switch docs := file.Documents; {
	case len(docs) > 1:
		faults = append(faults, document.Fault{Line: docs[1].Line, Reason: "another document: expected one object in a file"})
	case len(docs) == 1:
		_, more := file.Decode(docs[0], into)
		faults = append(faults, more...)
	}
	if len(faults) > 0 {
		return faults.InOrder()
	}
	return nil
}

// fitsConfigMap wants a manifest to be of what its path says.
func fitsConfigMap(m *v1.ConfigMap, namespace, name string) error {
	return errors.Join(fits(m.Kind, "ConfigMap", m.Namespace, namespace, m.Name, name), bounded(size(m.Data)+size(m.BinaryData)))
}

// fitsSecret is fitsConfigMap for a Secret.
func fitsSecret(s *v1.Secret, namespace, name string) error {
	return errors.Join(fits(s.Kind, "Secret", s.Namespace, namespace, s.Name, name), bounded(size(s.Data)+size(s.StringData)))
}

// size is how many bytes keys and values have.
func size[V string | []byte](values map[string]V) (bytes int) {
	for key, value := range values {
		bytes += len(key) + len(value)
	}
	return bytes
}

// bounded wants the keys and values of an object to be no more than an API server
// takes.
func bounded(size int) error {
	if size > MaxBytes {
		return fmt.Errorf("its keys and values have %d bytes: expected at most %d", size, MaxBytes)
	}
	return nil
}

// fits wants the manifest to be of what its path says.
func fits(kind, wantKind, namespace, wantNamespace, name, wantName string) error {
	for _, pair := range [...][3]string{{"kind", kind, wantKind}, {"namespace", namespace, wantNamespace}, {"name", name, wantName}} {
		if pair[1] != "" && pair[1] != pair[2] {
			return fmt.Errorf("the manifest has the %s %q", pair[0], pair[1])
		}
	}
	return nil
}
