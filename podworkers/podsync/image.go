package podsync

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
)

// ensureImage sees to it that a container's image is present, as far as its
// pull policy allows, and describes it.
func (s *Syncer) ensureImage(ctx context.Context, v *visit, c *v1.Container) (image resolvedImage, err error) {
	name, err := imageName(c.Image)
	if err != nil {
		s.failed(v, err)
		return image, because(ErrInvalidImageName, err)
	}
	policy := pullPolicy(c, name)
	if policy != v1.PullAlways {
		image, err = s.inspect(ctx, v, c, name)
		switch {
		case err == nil:
			s.cfg.Recorder.Eventf(v.pod, v1.EventTypeNormal, "Pulled", "Container image %q already present on machine", name)
			return image, nil
		case cut(ctx, err):
			return image, err
		case !errors.Is(err, runtime.ErrNotFound):
			s.failed(v, err)
			return image, because(ErrImageInspect, err)
		}
	}
	if policy == v1.PullNever {
		s.cfg.Recorder.Eventf(v.pod, v1.EventTypeWarning, string(ErrImageNeverPull), "Container image %q is not present with pull policy of Never", name)
		return image, because(ErrImageNeverPull, fmt.Errorf("container image %q is not present with pull policy of Never", name))
	}
	return s.pull(ctx, v, c, name)
}

// resolvedImage is an image that is present.
type resolvedImage struct {
	name string // with its tag
	ref  string // to create containers with
	user string // as whom it wants to run
}

// inspect looks an image up.
func (s *Syncer) inspect(ctx context.Context, v *visit, c *v1.Container, name string) (resolvedImage, error) {
	var image runtime.Image
	err := s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) (err error) {
		image, err = s.cfg.Runtime.ImageStatus(ctx, runtime.ImageStatusRequest{Image: name, Pod: v.ref(), Container: c.Name})
		return err
	})
	return resolvedImage{name: name, ref: image.ID, user: image.User}, err
}

// pull fetches an image, unless the last failure was too recent. It takes as
// long as it takes, within Config.PullTimeout, and ends with ctx.
func (s *Syncer) pull(ctx context.Context, v *visit, c *v1.Container, name string) (resolvedImage, error) {
	past, now := v.life.pulls[name], s.turn.Now()
	if wait := s.cfg.ImagePull.Remaining(past.backoff, now); wait > 0 {
		s.cfg.Recorder.Eventf(v.pod, v1.EventTypeNormal, "BackOff", "Back-off pulling image %q", name)
		err := fmt.Errorf("back-off pulling image %q: %w", name, past.err)
		return resolvedImage{}, podworkers.RetryAfter(because(ErrImagePullBackOff, err), now.Add(wait))
	}
	s.cfg.Recorder.Eventf(v.pod, v1.EventTypeNormal, "Pulling", "Pulling image %q", name)
	var ref string
	var err error
	podworkers.WithoutSlot(ctx, func() {
		err = s.ask(ctx, s.cfg.PullTimeout, func(ctx context.Context) error {
			ref, err = s.cfg.Runtime.PullImage(ctx, runtime.PullImageRequest{Image: name, Pod: v.ref(), Container: c.Name})
			return err
		})
	})
	if err != nil {
		return resolvedImage{}, s.pullFailed(ctx, v, name, err)
	}
	delete(v.life.pulls, name)
	s.cfg.Recorder.Eventf(v.pod, v1.EventTypeNormal, "Pulled", "Successfully pulled image %q in %s", name, s.turn.Now().Sub(now))
	return s.resolve(ctx, v, c, name, ref)
}

// pullFailed notes a failed pull, unless it was we who ended it.
func (s *Syncer) pullFailed(ctx context.Context, v *visit, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.cfg.Recorder.Eventf(v.pod, v1.EventTypeWarning, "Failed", "Failed to pull image %q: %v", name, err)
	now := s.turn.Now()
	backoff := s.cfg.ImagePull.Failed(v.life.pulls[name].backoff, now)
	if v.life.pulls == nil {
		v.life.pulls = make(map[string]pull)
	}
	v.life.pulls[name] = pull{backoff, err}
	again := now.Add(s.cfg.ImagePull.Remaining(backoff, now))
	return podworkers.RetryAfter(because(ErrImagePull, err), again)
}

// resolve describes an image that was just pulled. What it wants to run as
// matters only to those who forbid root.
func (s *Syncer) resolve(ctx context.Context, v *visit, c *v1.Container, name, ref string) (resolvedImage, error) {
	image := resolvedImage{name: name, ref: ref}
	if !mustNotBeRoot(v.pod, c) {
		return image, nil
	}
	seen, err := s.inspect(ctx, v, c, name)
	if err != nil {
		return image, because(ErrImageInspect, err)
	}
	image.user = seen.user
	return image, nil
}

// pullPolicy is the container's, or what the API would have defaulted it to.
func pullPolicy(c *v1.Container, name string) v1.PullPolicy {
	switch {
	case c.ImagePullPolicy != "":
		return c.ImagePullPolicy
	case strings.HasSuffix(name, ":latest"):
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}

// imageName is an image's name with the tag that goes without saying, or an
// error if no registry could have it.
func imageName(image string) (string, error) {
	if image == "" {
		return "", errors.New("the image has no name")
	}
	for _, r := range image {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("couldn't parse image name %q: character %q", image, r)
		}
	}
	repository, digest, byDigest := strings.Cut(image, "@")
	tagAt := strings.LastIndexByte(repository, ':')
	tagged := tagAt > strings.LastIndexByte(repository, '/')
	path := repository
	if tagged {
		path = repository[:tagAt]
	}
	base := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case base == "" || strings.Contains(path, "//"):
		return "", fmt.Errorf("couldn't parse image name %q: a part is missing", image)
	case base != strings.ToLower(base):
		return "", fmt.Errorf("couldn't parse image name %q: repository name must be lower case", image)
	case tagged && tagAt == len(repository)-1, byDigest && !strings.Contains(digest, ":"):
		return "", fmt.Errorf("couldn't parse image name %q: tag or digest is incomplete", image)
	case tagged || byDigest:
		return image, nil
	}
	return image + ":latest", nil
}
