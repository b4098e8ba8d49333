package podsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// wantedImage is an image that a container runs, or that an image volume has.
type wantedImage struct {
	reference string // as the spec has it
	policy    v1.PullPolicy
	container string   // whose it is; empty: a volume's
	volume    string   // likewise
	users     []string // the containers that wait for it
	needsUser bool     // its user must be known
}

// imageOf returns the image that a container runs.
func (v *syncPass) imageOf(c *v1.Container) wantedImage {
	return wantedImage{c.Image, c.ImagePullPolicy, c.Name, "", []string{c.Name}, request.WantsUser(v.pod, c)}
}

// ensureImage sees to it that an image is present, as far as its pull policy
// allows, and describes it. If it returns no error the image is leased: it stays
// until release is called.
func (s *Syncer) ensureImage(ctx context.Context, v *syncPass, c wantedImage) (image resolvedImage, err error) {
	name, err := images.Normalize(c.reference)
	if err != nil {
		wrong := because(podstatus.ReasonInvalidImageName, err)
		if !slices.ContainsFunc(c.users, func(container string) bool { return !v.isNews(container, wrong) }) {
			s.warn(v, c.container, eventInspectFailed, "Image name %q cannot be used: %v", c.reference, err)
		}
		return image, wrong
	}
	lease, err := s.images.Lease(ctx, name)
	if err != nil {
		return image, err
	}
	defer func() {
		if err != nil {
			lease.Release()
		}
	}()
	policy := pullPolicy(c.policy, name)
	if policy != v1.PullAlways {
		image, err = s.present(ctx, v, c, name, lease)
		switch {
		case err == nil:
			s.tell(v, c.container, eventPulled, "Container image %q already present on machine", name)
			return image, nil
		case cut(ctx, err):
			return image, err
		case !errors.Is(err, runtime.ErrNotFound):
			s.warn(v, c.container, eventInspectFailed, "Failed to inspect image %q: %v", name, err)
			return image, because(podstatus.ReasonImageInspectError, err)
		}
	}
	if policy == v1.PullNever {
		s.warn(v, c.container, eventNeverPull, "Container image %q is not present with pull policy of Never", name)
		return image, because(podstatus.ReasonErrImageNeverPull, fmt.Errorf("container image %q is not present with pull policy of Never", name))
	}
	return s.pull(ctx, v, c, name, lease)
}

// resolvedImage is an image that is present.
type resolvedImage struct {
	request.Image
	name    string // with its tag
	size    uint64 // in bytes; zero: not known
	release func() // ends its lease; may be called again
}

// present looks an image up, and holds it by what the runtime calls it. If it
// is just being removed under another name, that is waited for.
func (s *Syncer) present(ctx context.Context, v *syncPass, c wantedImage, name string, lease *images.Lease) (resolvedImage, error) {
	for {
		image, err := s.inspect(ctx, v, c, name)
		if err != nil {
			return image, err
		}
		image.release = lease.Release
		if waited, err := lease.Hold(ctx, image.Ref); err != nil || !waited {
			return image, err
		}
	}
}

// inspect looks an image up.
func (s *Syncer) inspect(ctx context.Context, v *syncPass, c wantedImage, name string) (resolvedImage, error) {
	var image runtime.Image
	err := s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) (err error) {
		image, err = s.cfg.Runtime.ImageStatus(ctx, runtime.ImageStatusRequest{Image: name, Pod: v.ref(), Container: c.container, Volume: c.volume})
		return err
	})
	return resolvedImage{Image: request.Image{Ref: image.ID, User: image.User}, name: name, size: image.SizeBytes}, err
}

// pull fetches an image, unless the last failure was too recent. It takes as
// long as it takes, within Config.PullTimeout, and ends with ctx.
func (s *Syncer) pull(ctx context.Context, v *syncPass, c wantedImage, name string, lease *images.Lease) (resolvedImage, error) {
	past, now := v.incarnation.pulls[name], s.executor.Now()
	if wait := s.cfg.ImagePull.Remaining(past.backoff, now); wait > 0 {
		if !past.told {
			s.tell(v, c.container, eventBackOff, "Back-off pulling image %q", name)
			past.told = true
			v.incarnation.pulls[name] = past
		}
		err := fmt.Errorf("back-off pulling image %q: %w", name, past.err)
		return resolvedImage{}, podworkers.RetryAfter(because(podstatus.ReasonImagePullBackOff, err), now.Add(wait))
	}
	auths := s.credentials(ctx, v, name)
	s.tell(v, c.container, eventPulling, "Pulling image %q", name)
	var pulled images.Pulled
	var err error
	podworkers.WithoutSlot(ctx, func() {
		pulled, err = s.images.Pull(ctx, images.PullRequest{Image: name, Pod: v.ref(), Container: c.container, Volume: c.volume, Auths: auths})
	})
	if err != nil {
		return resolvedImage{}, s.pullFailed(ctx, v, c.container, name, err)
	}
	delete(v.incarnation.pulls, name)
	return s.resolve(ctx, v, c, name, pulled, lease)
}

// pullFailed notes a failed pull, unless it was we who ended it.
func (s *Syncer) pullFailed(ctx context.Context, v *syncPass, container, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.warn(v, container, eventFailed, "Failed to pull image %q: %v", name, err)
	v.pulls.failed = true
	now := s.executor.Now()
	failed := s.cfg.ImagePull.Failed(v.incarnation.pulls[name].backoff, now)
	v.incarnation.dropPulls(v.pod)
	if v.incarnation.pulls == nil {
		v.incarnation.pulls = make(map[string]pull)
	}
	v.incarnation.pulls[name] = pull{backoff: failed, err: err}
	// A failed sync is repeated after ten seconds at the latest, as in the kubelet: a longer
	// wait shows the reason of the failure first and then ImagePullBackOff.
	wait := min(s.cfg.ImagePull.Remaining(failed, now), backoff.DefaultBackoff)
	return podworkers.RetryAfter(because(pullReason(err), err), now.Add(wait))
}

// pullReason names a failed pull as precisely as the runtime does (IM-5). Of
// several tries with several credentials an image that came and is not what it
// should be says most.
func pullReason(err error) podstatus.Reason {
	switch {
	case errors.Is(err, runtime.ErrSignature):
		return podstatus.ReasonSignatureValidationFailed
	case errors.Is(err, runtime.ErrRegistryUnavailable):
		return podstatus.ReasonRegistryUnavailable
	}
	return podstatus.ReasonErrImagePull
}

// dropPulls forgets the images that the pod does not want any more: it may be
// given another one for ever.
func (l *incarnation) dropPulls(pod *v1.Pod) {
	if len(l.pulls) == 0 {
		return
	}
	wanted := make(map[string]bool)
	for c := range podspec.WithEphemeral(pod) {
		if name, err := images.Normalize(c.Image); err == nil {
			wanted[name] = true
		}
	}
	for i := range pod.Spec.Volumes {
		if volume := pod.Spec.Volumes[i].Image; volume != nil {
			if name, err := images.Normalize(volume.Reference); err == nil {
				wanted[name] = true
			}
		}
	}
	maps.DeleteFunc(l.pulls, func(name string, _ pull) bool { return !wanted[name] })
}

// resolve describes an image that was just pulled. What it wants to run as
// matters only to those who have to know; its size is for people.
func (s *Syncer) resolve(ctx context.Context, v *syncPass, c wantedImage, name string, pulled images.Pulled, lease *images.Lease) (resolvedImage, error) {
	waited, err := lease.Hold(ctx, pulled.Ref)
	if err != nil {
		return resolvedImage{}, err
	}
	seen, err := s.inspect(ctx, v, c, name)
	size := ""
	if err == nil && seen.size > 0 {
		size = fmt.Sprintf(" Image size: %d bytes.", seen.size)
	}
	s.tell(v, c.container, eventPulled, "Successfully pulled image %q in %s (%s including waiting).%s", name,
		pulled.Took.Truncate(time.Millisecond), pulled.Waited.Truncate(time.Millisecond), size)
	s.cfg.Hooks.ImagePulled(ImagePull{v.pod.UID, c.container, name, seen.size, pulled.Took, pulled.Waited})
	image := resolvedImage{Image: request.Image{Ref: pulled.Ref, User: seen.User}, name: name, size: seen.size, release: lease.Release}
	switch {
	case cut(ctx, err):
		return image, err
	case err != nil && (waited || c.needsUser):
		return image, because(podstatus.ReasonImageInspectError, err)
	}
	return image, nil
}

// pullPolicy is the one of the spec, or what the API would have defaulted it to.
func pullPolicy(policy v1.PullPolicy, name string) v1.PullPolicy {
	switch {
	case policy != "":
		return policy
	case strings.HasSuffix(name, ":latest"):
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}
