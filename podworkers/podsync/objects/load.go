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

// Load adds the manifests of a file system with the layout of NewFiles:
// configmaps/<namespace>/<name>.yaml and secrets/<namespace>/<name>.yaml. It is for files that are
// embedded into a program, and reads them once. The error names every file that is not a valid
// manifest. The other manifests are added all the same.
func (m *Map) Load(from fs.FS) error {
	var faults []error
	for _, kind := range [...]string{"configmaps", "secrets"} {
		names, err := listManifests(from, kind)
		faults = append(faults, err)
		for _, name := range names {
			if err := m.loadManifest(from, name); err != nil {
				faults = append(faults, fmt.Errorf("objects: %s: %w", name, err))
			}
		}
	}
	return errors.Join(faults...)
}

// listManifests returns the paths kind/namespace/name.yaml of all manifests of a kind, sorted. It skips files
// that are not in a namespace directory. It returns nil if the directory of the kind does not exist.
func listManifests(from fs.FS, kind string) (names []string, err error) {
	namespaces, err := fs.ReadDir(from, kind)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	faults := []error{err}
	for _, namespace := range namespaces {
		dir := path.Join(kind, namespace.Name())
		if info, err := fs.Stat(from, dir); err != nil || !info.IsDir() { // fs.Stat follows a link to a directory.
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

// loadManifest reads a manifest and applies its Secret or ConfigMap to the map. The path of the file decides
// the kind, the namespace and the name; a manifest that contradicts it is an error.
func (m *Map) loadManifest(files fs.FS, file string) error {
	text, err := readManifestFile(files, file)
	if err != nil {
		return err
	}
	namespace, name := path.Base(path.Dir(file)), strings.TrimSuffix(path.Base(file), ".yaml")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return errors.New("no object can have that name")
	}
	if strings.HasPrefix(file, "secrets/") {
		var o v1.Secret
		if err := decodeManifest(text, &o); err != nil {
			return err
		}
		if err := checkSecretIdentityAndSize(&o, namespace, name); err != nil {
			return err
		}
		o.Namespace, o.Name = namespace, name
		m.ApplySecret(&o)
		return nil
	}
	var o v1.ConfigMap
	if err := decodeManifest(text, &o); err != nil {
		return err
	}
	if err := checkConfigMapIdentityAndSize(&o, namespace, name); err != nil {
		return err
	}
	o.Namespace, o.Name = namespace, name
	m.ApplyConfigMap(&o)
	return nil
}

// readManifestFile returns the content of a regular file of at most maxManifest bytes. It checks the kind of
// the file before it opens the file, because opening a pipe of the host would block.
func readManifestFile(files fs.FS, file string) ([]byte, error) {
	info, err := fs.Stat(files, file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegularError(osfile.Kind(info.Mode()))
	}
	f, err := files.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, maxManifest)
}

const (
	// maxManifest bounds a manifest after its aliases are expanded. Binary values are a third longer
	// in a manifest.
	maxManifest = 2 * MaxBytes
	// maxMemory bounds the decoded object.
	maxMemory = 4 * MaxBytes
)

// decodeManifest decodes a YAML or JSON document into object. Unknown fields and a second document are errors,
// but numbers and booleans are accepted as strings. An empty file leaves object unchanged. The error has a line
// for each fault.
func decodeManifest(text []byte, object any) error {
	file, faults := document.Read(text, document.Bounds{Bytes: maxManifest, Memory: maxMemory})
	file.Loose = true
	switch docs := file.Documents; {
	case len(docs) > 1:
		faults = append(faults, document.Fault{Line: docs[1].Line, Reason: "another document: expected one object in a file"})
	case len(docs) == 1:
		_, more := file.Decode(docs[0], object)
		faults = append(faults, more...)
	}
	if len(faults) > 0 {
		return faults.InOrder()
	}
	return nil
}

// checkConfigMapIdentityAndSize returns an error if the kind, namespace or name in the manifest is set and
// differs from its path, or if its data exceed MaxBytes.
func checkConfigMapIdentityAndSize(m *v1.ConfigMap, namespace, name string) error {
	return errors.Join(checkManifestIdentity(m.Kind, "ConfigMap", m.Namespace, namespace, m.Name, name), checkDataSize(dataSize(m.Data)+dataSize(m.BinaryData)))
}

// checkSecretIdentityAndSize returns an error if the kind, namespace or name in the manifest is set and differs
// from its path, or if its data exceed MaxBytes.
func checkSecretIdentityAndSize(s *v1.Secret, namespace, name string) error {
	return errors.Join(checkManifestIdentity(s.Kind, "Secret", s.Namespace, namespace, s.Name, name), checkDataSize(dataSize(s.Data)+dataSize(s.StringData)))
}

// dataSize returns the number of bytes of all keys and values.
func dataSize[V string | []byte](values map[string]V) (bytes int) {
	for key, value := range values {
		bytes += len(key) + len(value)
	}
	return bytes
}

// checkDataSize returns an error if the size of an object's data exceeds MaxBytes, which an API server would
// not accept.
func checkDataSize(bytes int) error {
	if bytes > MaxBytes {
		return fmt.Errorf("its keys and values have %d bytes: expected at most %d", bytes, MaxBytes)
	}
	return nil
}

// checkManifestIdentity returns an error if the kind, namespace or name in a manifest differs from the wanted
// one. An empty value in the manifest is allowed.
func checkManifestIdentity(kind, wantKind, namespace, wantNamespace, name, wantName string) error {
	for _, pair := range [...][3]string{{"kind", kind, wantKind}, {"namespace", namespace, wantNamespace}, {"name", name, wantName}} {
		if pair[1] != "" && pair[1] != pair[2] {
			return fmt.Errorf("the manifest has the %s %q", pair[0], pair[1])
		}
	}
	return nil
}
