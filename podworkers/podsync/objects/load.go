package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/osfile"
)

// Load puts in the manifests of a file system that is laid out as the directory
// of NewFiles: configmaps/<namespace>/<name>.yaml and secrets. It is for what is
// embedded into a program, and reads once. Its error names every file that is no
// such manifest; the others are put in.
func (m *Map) Load(from fs.FS) error {
	var faults []error
	for _, pattern := range [...]string{"configmaps/*/*.yaml", "secrets/*/*.yaml"} {
		names, err := fs.Glob(from, pattern)
		faults = append(faults, err)
		for _, name := range names {
			if err := m.loadOne(from, name); err != nil {
				faults = append(faults, fmt.Errorf("objects: %s: %w", name, err))
			}
		}
	}
	return errors.Join(faults...)
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
		m.SetSecret(&o)
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
	m.SetConfigMap(&o)
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
