package objects

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/document"
)

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
