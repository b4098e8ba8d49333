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

// wantedImage is an image that a container runs, or that an image volume has, in a sync pass.
type wantedImage struct {
	*podStarter
	reference string // as the spec has it
	policy    v1.PullPolicy
	container string   // the container that runs the image; empty: a volume has it
	volume    string   // the volume that has the image
	users     []string // the containers that wait for the image
	needsUser bool     // the user of the image must be known

	// ensure sets these.
	name  string // reference, normalized
	lease *images.Lease
}

// image returns the image that the container runs.
func (st *containerStart) image() *wantedImage {
	c := st.Container
	return &wantedImage{
		podStarter: st.podStarter, reference: c.Image, policy: c.ImagePullPolicy,
		container: c.Name, users: []string{c.Name}, needsUser: request.WantsUser(st.pod, c),
	}
}

// ensure pulls the image if its pull policy asks for that, and describes it. If ensure returns no
// error the image is leased: it stays until release is called.
func (w *wantedImage) ensure(ctx context.Context) (image resolvedImage, err error) {
	if w.name, err = images.Normalize(w.reference); err != nil {
		wrong := because(podstatus.ReasonInvalidImageName, err)
		if !slices.ContainsFunc(w.users, func(container string) bool { return !w.isNewReason(container, wrong) }) {
			w.recordWarning(w.container, eventInspectFailed, "Image name %q cannot be used: %v", w.reference, err)
		}
		return image, wrong
	}
	if w.lease, err = w.images.Lease(ctx, w.name); err != nil {
		return image, err
	}
	defer func() {
		if err != nil {
			w.lease.Release()
		}
	}()
	policy := pullPolicy(w.policy, w.name)
	if policy != v1.PullAlways {
		image, err = w.inspectAndHold(ctx)
		switch {
		case err == nil:
			w.recordEvent(w.container, eventPulled, "Container image %q already present on machine", w.name)
			return image, nil
		case isCancelled(ctx, err):
			return image, err
		case !errors.Is(err, runtime.ErrNotFound):
			w.recordWarning(w.container, eventInspectFailed, "Failed to inspect image %q: %v", w.name, err)
			return image, because(podstatus.ReasonImageInspectError, err)
		}
	}
	if policy == v1.PullNever {
		w.recordWarning(w.container, eventNeverPull, "Container image %q is not present with pull policy of Never", w.name)
		return image, because(podstatus.ReasonErrImageNeverPull, fmt.Errorf("container image %q is not present with pull policy of Never", w.name))
	}
	return w.pull(ctx)
}

// resolvedImage is an image that is present.
type resolvedImage struct {
	request.Image
	name    string // with its tag
	size    uint64 // in bytes; zero: not known
	release func() // ends its lease; may be called again
}

// inspectAndHold looks the image up and holds the image by the reference of the runtime. It waits for
// a removal of the image under another name.
func (w *wantedImage) inspectAndHold(ctx context.Context) (resolvedImage, error) {
	for {
		image, err := w.inspect(ctx)
		if err != nil {
			return image, err
		}
		image.release = w.lease.Release
		if waited, err := w.lease.AddName(ctx, image.Ref); err != nil || !waited {
			return image, err
		}
	}
}

// inspect looks the image up.
func (w *wantedImage) inspect(ctx context.Context) (resolvedImage, error) {
	var image runtime.Image
	err := w.callWithTimeout(ctx, w.cfg.CallTimeout, func(ctx context.Context) (err error) {
		image, err = w.cfg.Runtime.ImageStatus(ctx, runtime.ImageStatusRequest{Image: w.name, Pod: w.podRef(), Container: w.container, Volume: w.volume})
		return err
	})
	return resolvedImage{Image: request.Image{Ref: image.ID, User: image.User}, name: w.name, size: image.SizeBytes}, err
}

// pull pulls the image, unless the back-off of the last failure is not over. It takes
// Config.PullTimeout at most, and ends with ctx.
func (w *wantedImage) pull(ctx context.Context) (resolvedImage, error) {
	past, now := w.incarnation.pulls[w.name], w.executor.Now()
	if wait := w.cfg.ImagePull.Remaining(past.backoff, now); wait > 0 {
		if !past.recorded {
			w.recordEvent(w.container, eventBackOff, "Back-off pulling image %q", w.name)
			past.recorded = true
			w.incarnation.pulls[w.name] = past
		}
		err := fmt.Errorf("back-off pulling image %q: %w", w.name, past.err)
		return resolvedImage{}, podworkers.RetryAfter(because(podstatus.ReasonImagePullBackOff, err), now.Add(wait))
	}
	auths := w.pullCredentials(ctx, w.name)
	w.recordEvent(w.container, eventPulling, "Pulling image %q", w.name)
	var pulled images.Pulled
	var err error
	podworkers.WithoutSlot(ctx, func() {
		pulled, err = w.images.Pull(ctx, images.PullRequest{Image: w.name, Pod: w.podRef(), Container: w.container, Volume: w.volume, Auths: auths})
	})
	if err != nil {
		return resolvedImage{}, w.pullFailed(ctx, err)
	}
	delete(w.incarnation.pulls, w.name)
	return w.resolve(ctx, pulled)
}

// pullFailed notes a failed pull, unless the end of ctx has cut it short.
func (w *wantedImage) pullFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.recordWarning(w.container, eventFailed, "Failed to pull image %q: %v", w.name, err)
	w.pulls.failed = true
	now := w.executor.Now()
	failed := w.cfg.ImagePull.Failed(w.incarnation.pulls[w.name].backoff, now)
	w.incarnation.dropPulls(w.pod)
	if w.incarnation.pulls == nil {
		w.incarnation.pulls = make(map[string]pull)
	}
	w.incarnation.pulls[w.name] = pull{backoff: failed, err: err}
	// A failed sync is repeated after ten seconds at the latest, as in the kubelet: a longer
	// wait shows the reason of the failure first and then ImagePullBackOff.
	wait := min(w.cfg.ImagePull.Remaining(failed, now), backoff.DefaultBackoff)
	return podworkers.RetryAfter(because(pullReason(err), err), now.Add(wait))
}

// pullReason returns the waiting reason of a failed pull, as precise as the error of the runtime (IM-5).
// After pulls with several credentials a wrong signature goes before an unavailable registry.
func pullReason(err error) podstatus.Reason {
	switch {
	case errors.Is(err, runtime.ErrSignature):
		return podstatus.ReasonSignatureValidationFailed
	case errors.Is(err, runtime.ErrRegistryUnavailable):
		return podstatus.ReasonRegistryUnavailable
	}
	return podstatus.ReasonErrImagePull
}

// dropPulls drops the pulls of images that the pod no longer uses. Otherwise a pod whose image changes
// again and again would fill the map.
func (l *incarnation) dropPulls(pod *v1.Pod) {
	if len(l.pulls) == 0 {
		return
	}
	wanted := make(map[string]bool)
	for c := range podspec.AllAndEphemeralContainers(pod) {
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

// resolve describes the image that was just pulled. A failed inspection is an error only if the user
// of the image must be known, or if the image may have been removed meanwhile: its size is for people.
func (w *wantedImage) resolve(ctx context.Context, pulled images.Pulled) (resolvedImage, error) {
	waited, err := w.lease.AddName(ctx, pulled.Ref)
	if err != nil {
		return resolvedImage{}, err
	}
	seen, err := w.inspect(ctx)
	size := ""
	if err == nil && seen.size > 0 {
		size = fmt.Sprintf(" Image size: %d bytes.", seen.size)
	}
	w.recordEvent(w.container, eventPulled, "Successfully pulled image %q in %s (%s including waiting).%s", w.name,
		pulled.Took.Truncate(time.Millisecond), pulled.Waited.Truncate(time.Millisecond), size)
	w.cfg.Hooks.ImagePulled(ImagePull{w.pod.UID, w.container, w.name, seen.size, pulled.Took, pulled.Waited})
	image := resolvedImage{Image: request.Image{Ref: pulled.Ref, User: seen.User}, name: w.name, size: seen.size, release: w.lease.Release}
	switch {
	case isCancelled(ctx, err):
		return image, err
	case err != nil && (waited || w.needsUser):
		return image, because(podstatus.ReasonImageInspectError, err)
	}
	return image, nil
}

// pullPolicy returns the policy of the spec, or the default of the API.
func pullPolicy(policy v1.PullPolicy, name string) v1.PullPolicy {
	switch {
	case policy != "":
		return policy
	case strings.HasSuffix(name, ":latest"):
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}
