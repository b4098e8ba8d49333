package volumestest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
)

var fileCases = []Case{
	{Name: "files/read", Promise: "A VolumeFileReader returns the beginning of a file that a container has written, and whether there is more.", needsDisk: true, needsFileReader: true, run: func(b *caseEnv) {
		r, p := b.volumeFileReader(), b.newPod("one", "data")
		b.mustSetUp(p)
		at := filepath.Join(b.volumePath(p), "sub")
		b.Must(os.Mkdir(at, 0o700), "Mkdir")
		b.Must(os.WriteFile(filepath.Join(at, "f"), []byte("12345"), 0o600), "WriteFile")
		for limit, want := range map[int]string{4: "1234", 5: "12345", 9: "12345"} {
			data, more, err := r.ReadVolumeFile(b.Context(), p, "data", "sub/f", limit)
			b.Must(err, "ReadVolumeFile")
			if string(data) != want || more != (limit < 5) {
				b.Failf("ReadVolumeFile with limit %d: %q, more %t", limit, data, more)
			}
		}
	}},
	{Name: "files/missing", Promise: "A VolumeFileReader returns fs.ErrNotExist for a file that is not there.", needsFileReader: true, run: func(b *caseEnv) {
		r, p := b.volumeFileReader(), b.newPod("one", "data")
		b.mustSetUp(p)
		if _, _, err := r.ReadVolumeFile(b.Context(), p, "data", "none", 9); !errors.Is(err, fs.ErrNotExist) {
			b.Failf("ReadVolumeFile: %v", err)
		}
	}},
	{Name: "files/outside", Promise: "A VolumeFileReader reads nothing outside of the emptyDir volumes of the pod, whatever path and links say.", needsFileReader: true, run: func(b *caseEnv) {
		r, p := b.volumeFileReader(), b.newPod("one", "data")
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/"}}})
		b.mustSetUp(p)
		if b.OnDisk {
			at := b.volumePath(p)
			b.Must(os.WriteFile(filepath.Join(filepath.Dir(at), "f"), []byte("secret"), 0o600), "WriteFile")
			b.Must(os.Symlink("../f", filepath.Join(at, "link")), "Symlink")
			b.Must(os.Symlink("/etc", filepath.Join(at, "etc")), "Symlink")
		}
		for _, file := range [][2]string{{"data", "../f"}, {"data", "/etc/passwd"}, {"data", "link"}, {"data", "etc/passwd"}, {"data", "."}, {"other", "f"}, {"host", "etc/passwd"}} {
			if data, _, err := r.ReadVolumeFile(b.Context(), p, file[0], file[1], 9); err == nil {
				b.Failf("ReadVolumeFile of %s in %s: %q", file[1], file[0], data)
			}
		}
	}},
}

// volumeFileReader returns the Volumes of the case as a VolumeFileReader. It panics if they are not; such cases
// must be skipped.
func (b *caseEnv) volumeFileReader() podsync.VolumeFileReader {
	return b.Volumes.(podsync.VolumeFileReader)
}
