package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/runtime"
)

// PullImage implements runtime.Images. A pull takes no time.
func (r *Runtime) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	return instrumentCall(ctx, r, "PullImage", req, (*Runtime).pullImage)
}

// ImageStatus implements runtime.Images.
func (r *Runtime) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	return instrumentCall(ctx, r, "ImageStatus", req, (*Runtime).imageStatus)
}

// ListImages implements runtime.Images. The images are sorted by name.
func (r *Runtime) ListImages(ctx context.Context) ([]runtime.Image, error) {
	return instrumentCall(ctx, r, "ListImages", nothing{}, (*Runtime).listImages)
}

// RemoveImage implements runtime.Images.
func (r *Runtime) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	_, err := instrumentCall(ctx, r, "RemoveImage", req, (*Runtime).removeImage)
	return err
}

// pullImage stores an image as present and returns its ID. It returns an error if the runtime is not ready, the
// name is empty, a pull error is set for the image, or the container's script says fail=image. The last also
// counts as a start of the container.
func (r *Runtime) pullImage(_ context.Context, req runtime.PullImageRequest) (string, error) {
	m := r.m
	if _, err := m.lockIfReady(); err != nil {
		return "", err
	}
	defer m.unlockAndSignal()
	if req.Image == "" {
		return "", fmt.Errorf("memory: %w: the image name is empty", runtime.ErrImage)
	}
	if err := m.mu.pullErrors[withDefaultTag(req.Image)]; errors.Is(err, runtime.ErrImage) {
		return "", fmt.Errorf("memory: image %s: %w", req.Image, err)
	} else if err != nil {
		return "", fmt.Errorf("memory: image %s: %w: %w", req.Image, runtime.ErrImage, err)
	}
	if name, fails := m.findScriptedImageFailureLocked(req.Pod, req.Container, req.Volume); fails {
		m.countStartLocked(req.Pod.UID, name)
		return "", fmt.Errorf("memory: image %s: %w: the script of container %s says fail=image", req.Image, runtime.ErrImage, name)
	}
	return m.ensureImageLocked(req.Image).ID, nil
}

// imageStatus returns a present image. It returns ErrNotFound if the image is absent, or if the container's
// script says fail=image. It returns ErrNotReady if the runtime is not ready.
func (r *Runtime) imageStatus(_ context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	m := r.m
	if _, err := m.lockIfReady(); err != nil {
		return runtime.Image{}, err
	}
	defer m.unlockAndSignal()
	image, ok := m.findImageLocked(req.Image)
	if _, fails := m.findScriptedImageFailureLocked(req.Pod, req.Container, req.Volume); fails || !ok {
		return runtime.Image{}, fmt.Errorf("memory: image %s: %w", req.Image, runtime.ErrNotFound)
	}
	return image, nil
}

// listImages returns the present images, sorted by tags and then by ID.
func (r *Runtime) listImages(context.Context, nothing) ([]runtime.Image, error) {
	m := r.m
	if _, err := m.lockIfReady(); err != nil {
		return nil, err
	}
	defer m.unlockAndSignal()
	list := make([]runtime.Image, 0, len(m.mu.images))
	for _, image := range m.mu.images {
		list = append(list, image)
	}
	slices.SortStableFunc(list, func(a, b runtime.Image) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(list, func(a, b runtime.Image) int { return slices.Compare(a.Tags, b.Tags) })
	return list, nil
}

// removeImage removes an image under all its names. It returns nil if the image is absent.
func (r *Runtime) removeImage(_ context.Context, req runtime.RemoveImageRequest) (nothing, error) {
	m := r.m
	if _, err := m.lockIfReady(); err != nil {
		return nothing{}, err
	}
	defer m.unlockAndSignal()
	if image, ok := m.findImageLocked(req.Image); ok {
		for key, other := range m.mu.images {
			if other.ID == image.ID {
				delete(m.mu.images, key)
			}
		}
	}
	return nothing{}, nil
}

// findScriptedImageFailureLocked returns the name of a container whose script says fail=image for its next
// start, and true if it finds such a container. It checks the named container, or all containers of the pod if
// container is empty. Faulty scripts are ignored, and scripts do not affect the image of a volume.
func (m *machine) findScriptedImageFailureLocked(ref runtime.PodRef, container, volume string) (failing string, found bool) {
	if ref.UID == "" || volume != "" {
		return "", false
	}
	var annotations map[string]string
	if p := m.mu.pods[ref.UID]; p != nil {
		annotations = p.sandboxes[0].annotations
	}
	for _, name := range m.containersWithScriptLocked(ref, container, annotations) {
		// CreateContainer reports a script that cannot be parsed.
		if run, err := m.nextScriptedRunLocked(ref, name, annotations); err == nil && run.Fail == FailImage {
			return name, true
		}
	}
	return "", false
}

// containersWithScriptLocked returns the sorted names of the pod's containers that have a script, from
// annotations and from SetScript calls that name a container. If container is not empty, it returns only that
// name, without a check.
func (m *machine) containersWithScriptLocked(ref runtime.PodRef, container string, annotations map[string]string) []string {
	if container != "" {
		return []string{container}
	}
	var names []string
	for _, a := range m.mu.scriptRules {
		if a.selector.Container != "" && a.selector.Matches(ref, a.selector.Container) {
			names = append(names, a.selector.Container)
		}
	}
	for key := range annotations {
		if name, ok := strings.CutPrefix(key, AnnotationPrefix); ok && !strings.Contains(name, ".") { // A name with a dot contains answers.
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// findImageLocked returns the present image with a name, ID or digest. A name without tag or digest means
// :latest. It returns false if the image is absent.
func (m *machine) findImageLocked(name string) (runtime.Image, bool) {
	if image, ok := m.mu.images[withDefaultTag(name)]; ok {
		return image, true
	}
	id := name[strings.LastIndexByte(name, '@')+1:]
	first, found := "", false // Of several images with the digest, the first by name, so that the result is deterministic.
	for key, image := range m.mu.images {
		if image.ID == id && (!found || key < first) {
			first, found = key, true
		}
	}
	return m.mu.images[first], found
}

// ensureImageLocked returns the image with a name. If it is absent, ensureImageLocked stores it with an ID that
// is computed from the name, or with the digest in the name.
func (m *machine) ensureImageLocked(name string) runtime.Image {
	key := withDefaultTag(name)
	if image, ok := m.mu.images[key]; ok {
		return image
	}
	repository, digest, byDigest := strings.Cut(key, "@")
	image := runtime.Image{ID: digest, SizeBytes: 1 << 20}
	if !byDigest {
		sum := sha256.Sum256([]byte(key))
		image.ID = "sha256:" + hex.EncodeToString(sum[:])
		image.Tags = []string{key}
		repository = key[:strings.LastIndexByte(key, ':')]
	}
	image.Digests = []string{repository + "@" + image.ID}
	m.mu.images[key] = image
	return image
}

// withDefaultTag returns name with :latest added if it has neither tag nor digest.
func withDefaultTag(name string) string {
	if strings.Contains(name, "@") || strings.LastIndexByte(name, ':') > strings.LastIndexByte(name, '/') {
		return name
	}
	return name + ":latest"
}
