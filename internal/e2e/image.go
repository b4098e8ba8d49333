//go:build linux

package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// busyboxLayer returns an image layer as a tar file: busybox, a link for each of its tools, a few directories,
// and users and groups.
func busyboxLayer() ([]byte, error) {
	program, err := os.ReadFile(busybox)
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	file := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err == nil {
			err = w.WriteHeader(&h)
		}
		if err == nil {
			_, err = w.Write(data)
		}
	}
	for _, dir := range []string{"bin/", "etc/", "tmp/", "root/", "var/", "www/"} {
		mode := int64(0o755)
		if dir == "tmp/" {
			mode = 0o1777
		}
		file(tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: mode}, nil)
	}
	file(tar.Header{Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755}, program)
	for name := range strings.FieldsSeq(string(names)) {
		if name != "busybox" {
			file(tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox", Mode: 0o777}, nil)
		}
	}
	file(tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\nmember:x:1234:1234:member:/:/bin/false\n"))
	file(tar.Header{Name: "etc/group", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("root:x:0:\nnogroup:x:65534:\nmember:x:1234:\nextra:x:4711:member\n"))
	if err == nil {
		err = w.Close()
	}
	return layer.Bytes(), err
}

// makeImage builds an image with one layer. It returns the manifest, and the configuration and the layer as
// blobs.
func makeImage(layer []byte, command []string) (manifest blob, blobs []blob) {
	content := newBlob("application/vnd.oci.image.layer.v1.tar", layer)
	config := newBlob("application/vnd.oci.image.config.v1+json", marshalJSON(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Cmd": command, "Env": []string{"PATH=/bin"}, "WorkingDir": "/"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{content.digest}},
	}))
	descriptor := func(b blob) map[string]any {
		return map[string]any{"mediaType": b.mediaType, "digest": b.digest, "size": len(b.data)}
	}
	const mediaType = "application/vnd.oci.image.manifest.v1+json"
	manifest = newBlob(mediaType, marshalJSON(map[string]any{
		"schemaVersion": 2, "mediaType": mediaType, "config": descriptor(config), "layers": []any{descriptor(content)},
	}))
	return manifest, []blob{config, content}
}

func newBlob(mediaType string, data []byte) blob {
	sum := sha256.Sum256(data)
	return blob{digest: "sha256:" + hex.EncodeToString(sum[:]), mediaType: mediaType, data: data}
}

// marshalJSON returns a value as JSON and ignores errors. It is for maps, slices, strings and numbers, which
// have no errors.
func marshalJSON(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}
