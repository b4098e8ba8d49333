//go:build linux

package e2e

import (
	"net"
	"net/http"
	"strings"
	"sync"
)

// Registry serves images on the loopback interface, where containerd asks
// without encryption.
type Registry struct {
	address string
	layer   []byte // of busybox

	mu        sync.Mutex
	manifests map[string]blob // by repository:tag and repository@digest
	blobs     map[string]blob // by digest
	trouble   func(repository string) int
}

// blob is something with a digest and a type.
type blob struct {
	digest, mediaType string
	data              []byte
}

// serveRegistryWithImages starts an image registry with busybox and pause images. It serves until the test ends.
func serveRegistryWithImages(t T) *Registry {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("e2e: %v", err)
	}
	r := &Registry{address: listener.Addr().String(), manifests: map[string]blob{}, blobs: map[string]blob{}}
	server := &http.Server{Handler: r}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }() // It returns when it is closed.
	t.Cleanup(func() { _ = server.Close(); <-done })
	layer, err := busyboxLayer()
	if err != nil {
		t.Fatalf("e2e: %v", err)
	}
	r.layer = layer
	r.addImage("podkeel/busybox", "1", layer, []string{"/bin/sh"})
	r.addImage("podkeel/busybox", "2", layer, []string{"/bin/sh", "-l"}) // another image of the same files
	r.addImage("podkeel/pause", "1", layer, []string{"/bin/sleep", "2147483647"})
	return r
}

// Image is the reference of the image with the shell and the tools of busybox.
func (r *Registry) Image() string { return r.address + "/podkeel/busybox:1" }

// NextImage is the reference of another image with the same contents.
func (r *Registry) NextImage() string { return r.address + "/podkeel/busybox:2" }

// Reference returns the reference of the image in a repository. The image exists there once it is published.
func (r *Registry) Reference(repository string) string { return r.address + "/" + repository + ":1" }

// Publish puts the image with the tools of busybox into one more repository. It
// may be called at any time.
func (r *Registry) Publish(repository string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addImage(repository, "1", r.layer, []string{"/bin/sh"})
}

// PublishOther puts an image of its own into one more repository: with the same contents as the
// others, and under an ID that none of them has. It may be called at any time.
func (r *Registry) PublishOther(repository string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addImage(repository, "1", r.layer, []string{"/bin/echo", repository})
}

// MissingImage is the reference of an image that the registry does not have.
func (r *Registry) MissingImage() string { return r.address + "/podkeel/none:1" }

// Pause is the reference of the image of sandboxes.
func (r *Registry) Pause() string { return r.address + "/podkeel/pause:1" }

// Trouble has requests for a repository answered with a status instead, if f,
// which is called concurrently and may take its time, gives one. Nil ends that.
func (r *Registry) Trouble(f func(repository string) (status int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trouble = f
}

func (r *Registry) addImage(repository, tag string, layer []byte, command []string) {
	manifest, blobs := makeImage(layer, command)
	r.manifests[repository+":"+tag] = manifest
	r.manifests[repository+"@"+manifest.digest] = manifest
	for _, b := range blobs {
		r.blobs[b.digest] = b
	}
}

// ServeHTTP implements the part of the distribution protocol that a pull needs:
// /v2/<repository>/manifests/<tag or digest> and /v2/<repository>/blobs/<digest>.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path, ok := strings.CutPrefix(req.URL.Path, "/v2/")
	if !ok {
		http.NotFound(w, req)
		return
	}
	r.mu.Lock()
	b, repository, found := r.findBlob(path)
	trouble := r.trouble
	r.mu.Unlock()
	if trouble != nil && repository != "" {
		if status := trouble(repository); status != 0 {
			w.WriteHeader(status)
			return
		}
	}
	switch {
	case path == "":
		w.WriteHeader(http.StatusOK)
	case !found:
		http.NotFound(w, req)
	default:
		w.Header().Set("Content-Type", b.mediaType)
		w.Header().Set("Docker-Content-Digest", b.digest)
		_, _ = w.Write(b.data) // A client that has disconnected needs no answer.
	}
}

func (r *Registry) findBlob(path string) (b blob, repository string, found bool) {
	if repository, reference, ok := strings.Cut(path, "/manifests/"); ok {
		separator := ":"
		if strings.Contains(reference, ":") {
			separator = "@"
		}
		b, found = r.manifests[repository+separator+reference]
		return b, repository, found
	}
	repository, digest, ok := strings.Cut(path, "/blobs/")
	if !ok {
		return b, "", false
	}
	b, found = r.blobs[digest]
	return b, repository, found
}
