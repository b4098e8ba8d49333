package main

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// registryAddress is the address of the registry of a run. It serves the images of all registries.
const registryAddress = "127.0.0.1:5000"

// digestImage is the name by which a spec requests busybox. No stand-in can have this digest, so containerd gets an
// image of this name.
const digestImage = "registry.k8s.io/e2e-test-images/busybox@sha256:a9155b13325b2abef48e71de77bb8ac015412a566829f621d06bfae5c699b1b9"

// file is a file, a link or a directory of an image. Data is the content of a file.
type file struct {
	name, link string
	mode       int64
	data       []byte
}

// standInImage is an image under the name of one of the suite.
type standInImage struct {
	repositories []string // with tags, without the host
	program      string   // a program of the suite's directory; none if empty
	path         string   // the program's path in the image
	extra        []file
	config       v1.Config
}

// agnhostUsers are the users and groups of the image agnhost, which a spec about supplementary groups needs.
const (
	usersOfAgnhost  = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\nuser-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n"
	groupsOfAgnhost = "root:x:0:\nnogroup:x:65534:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n"
)

// bashScript is the stand-in for bash.
const bashScript = "#!/bin/sh\nexec /bin/sh \"$@\"\n"

// nginxScript is the start command of the stand-in of nginx: busybox's web server.
const nginxScript = "#!/bin/sh\nmkdir -p /usr/share/nginx/html\necho 'Welcome to nginx!' > /usr/share/nginx/html/index.html\nexec httpd -f -p 80 -h /usr/share/nginx/html\n"

// standInImages are the images that the specs need. All have the tools of busybox.
var standInImages = []standInImage{
	{
		repositories: []string{"e2e-test-images/agnhost:2.66.1", "e2e-test-images/agnhost:2.55", "k8s-authenticated-test/agnhost:2.6"}, program: "agnhost", path: "agnhost",
		extra: []file{
			{name: "agnhost-2", link: "agnhost"}, {name: "uploads/", mode: 0o755}, {name: "bin/bash", mode: 0o755, data: []byte(bashScript)},
			{name: "etc/passwd", mode: 0o644, data: []byte(usersOfAgnhost)}, {name: "etc/group", mode: 0o644, data: []byte(groupsOfAgnhost)},
		},
		config: v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}},
	},
	{repositories: []string{"e2e-test-images/busybox:1.37.0-2", "e2e-test-images/busybox:1.29-2", "library/busybox:latest"}, config: v1.Config{Cmd: []string{"sh"}}},
	{repositories: []string{"pause:3.10.2", "pause:3.10.1", "pause:3.10"}, program: "agnhost", path: "pause", config: v1.Config{Entrypoint: []string{"/pause", "pause"}}},
	{
		repositories: []string{"e2e-test-images/nginx:1.27.0-2", "e2e-test-images/nginx:1.28.0-2"},
		extra:        []file{{name: "usr/sbin/nginx", mode: 0o755, data: []byte(nginxScript)}}, config: v1.Config{Cmd: []string{"/usr/sbin/nginx"}},
	},
	{repositories: []string{"e2e-test-images/nonroot:1.5"}, config: v1.Config{User: "1234", Cmd: []string{"sh"}}},
	{repositories: []string{"e2e-test-images/nonewprivs:1.4"}, program: "nonewprivs", path: "usr/local/bin/nnp", config: v1.Config{Cmd: []string{"nnp"}}},
	{repositories: []string{"e2e-test-images/glibc-dns-testing:2.1.1", "e2e-test-images/ipc-utils:1.4", "e2e-test-images/perl:5.26"}, config: v1.Config{Cmd: []string{"sh"}}},
	{repositories: []string{"e2e-test-images/sample-device-plugin:1.7", "e2e-test-images/sample-device-plugin:1.8.0"}, program: "sample-device-plugin", path: "sampledeviceplugin", config: v1.Config{Entrypoint: []string{"/sampledeviceplugin"}}},
}

// serveImages starts the registry with the stand-in images. It serves until the process exits.
func (r *isolatedRun) serveImages() error {
	listener, err := net.Listen("tcp", registryAddress)
	if err != nil {
		return err
	}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	go func() { _ = http.Serve(listener, handler) }() // It serves until the process exits.
	base, err := busyboxLayer(r.Programs.Suite)
	if err != nil {
		return err
	}
	for _, s := range standInImages {
		image, err := s.buildImage(base, r.Programs.Suite)
		if err != nil {
			return err
		}
		for _, repository := range s.repositories {
			to, err := name.NewTag(registryAddress+"/"+repository, name.Insecure)
			if err != nil {
				return err
			}
			if err := remote.Write(to, image); err != nil {
				return err
			}
		}
	}
	return nil
}

// tagDigestImage gives containerd an image with the name of digestImage. It removes the name of the pulled image, because
// containerd would report it as the image of containers.
func (r *isolatedRun) tagDigestImage() error {
	from := registryAddress + "/e2e-test-images/busybox:1.37.0-2"
	if _, err := r.runCtr("images", "pull", "--plain-http", from); err != nil {
		return err
	}
	if _, err := r.runCtr("images", "tag", from, digestImage); err != nil {
		return err
	}
	_, err := r.runCtr("images", "rm", from)
	return err
}

// buildImage returns the image on top of a layer with busybox. dir has the programs of the suite.
func (s standInImage) buildImage(base v1.Layer, dir string) (v1.Image, error) {
	config := s.config
	config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	files := s.extra
	if s.program != "" {
		data, err := os.ReadFile(filepath.Join(dir, s.program))
		if err != nil {
			return nil, err
		}
		mode := int64(0o755)
		if s.program == "nonewprivs" {
			mode = 0o6755 // The program prints the user that it runs as.
		}
		files = append([]file{{name: s.path, mode: mode, data: data}}, files...)
	}
	if s.program == "agnhost" {
		for _, name := range certificateFiles {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			files = append(files, file{name: name, mode: 0o644, data: data})
		}
	}
	layers := []v1.Layer{base}
	if len(files) > 0 {
		layer, err := newLayer(files)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, configFile(image, config))
}

// configFile returns the configuration of an image with layers, for the processor of this machine.
func configFile(image v1.Image, config v1.Config) *v1.ConfigFile {
	all, err := image.ConfigFile()
	if err != nil { // An image in memory has a configuration.
		all = &v1.ConfigFile{}
	}
	all = all.DeepCopy()
	all.OS, all.Architecture, all.Config = "linux", runtime.GOARCH, config
	return all
}

// busyboxLayer returns a layer with busybox, links of its tools and the usual directories and users. dir has the stand-ins for
// tools that busybox lacks.
func busyboxLayer(dir string) (v1.Layer, error) {
	program, err := os.ReadFile(busybox)
	if err != nil {
		return nil, err
	}
	tools, err := os.ReadFile(filepath.Join(dir, "tools"))
	if err != nil {
		return nil, err
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, err
	}
	files := []file{{name: "bin/", mode: 0o755}, {name: "etc/", mode: 0o755}, {name: "root/", mode: 0o755}, {name: "tmp/", mode: 0o1777}, {name: "usr/", mode: 0o755}, {name: "var/", mode: 0o755},
		{name: "home/", mode: 0o755}, {name: "bin/busybox", mode: 0o755, data: program}, {name: "bin/nmeter", mode: 0o755, data: tools}, {name: "bin/curl", link: "nmeter"},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n")},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnogroup:x:65534:\n")},
	}
	for applet := range strings.FieldsSeq(string(applets)) {
		if applet != "busybox" && applet != "nmeter" {
			files = append(files, file{name: "bin/" + applet, link: "busybox"})
		}
	}
	return newLayer(files)
}

// newLayer returns a layer with files.
func newLayer(files []file) (v1.Layer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Typeflag: tar.TypeReg, Linkname: f.link}
		switch {
		case f.link != "":
			h.Typeflag, h.Mode = tar.TypeSymlink, 0o777
		case strings.HasSuffix(f.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
}
