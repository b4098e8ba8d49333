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

// imageToEnsure is an image that a container or an image volume of the pod needs in a sync.
type imageToEnsure struct {
	*podStarter
	reference string // the reference in the spec
	policy    v1.PullPolicy
	container string   // the container that runs the image; empty for an image volume
	volume    string   // the image volume; empty for a container
	users     []string // the containers that wait for the image
	needsUser bool     // the container needs the user of the image

	// ensurePresentAndLease sets these.
	name  string // the normalized reference
	lease *images.Lease
}

// imageOfContainer returns the image reference of the container with its pull policy, as an imageToEnsure. It
// pulls nothing.
func (st *containerStart) imageOfContainer() *imageToEnsure {
	c := st.Container
	return &imageToEnsure{
		podStarter: st.podStarter, reference: c.Image, policy: c.ImagePullPolicy,
		container: c.Name, users: []string{c.Name}, needsUser: request.NeedsImageUser(st.pod, c),
	}
}

// ensurePresentAndLease pulls the image if it is missing or the pull policy is Always, and returns its
// description. It records events about the result. After a success the garbage collection of images keeps the
// image until the caller calls release. Except after a cancellation, an error has the waiting reason of the
// container.
func (w *imageToEnsure) ensurePresentAndLease(ctx context.Context) (image resolvedImage, err error) {
	if w.name, err = images.Normalize(w.reference); err != nil {
		wrong := withWaitingReason(podstatus.ReasonInvalidImageName, err)
		if !slices.ContainsFunc(w.users, func(container string) bool { return !w.isNewWaitingReason(container, wrong) }) {
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
		image, err = w.inspectAndLease(ctx)
		switch {
		case err == nil:
			w.recordEvent(w.container, eventPulled, "Container image %q already present on machine", w.name)
			return image, nil
		case isCancelled(ctx, err):
			return image, err
		case !errors.Is(err, runtime.ErrNotFound):
			w.recordWarning(w.container, eventInspectFailed, "Failed to inspect image %q: %v", w.name, err)
			return image, withWaitingReason(podstatus.ReasonImageInspectError, err)
		}
	}
	if policy == v1.PullNever {
		w.recordWarning(w.container, eventNeverPull, "Container image %q is not present with pull policy of Never", w.name)
		return image, withWaitingReason(podstatus.ReasonErrImageNeverPull, fmt.Errorf("container image %q is not present with pull policy of Never", w.name))
	}
	return w.pullUnlessBackedOff(ctx)
}

// resolvedImage is an image that the runtime has.
type resolvedImage struct {
	request.Image
	name    string // the name with its tag
	size    uint64 // in bytes; zero: unknown
	release func() // releases the lease; may be called more than once
}

// inspectAndLease inspects the image and protects it, also under the runtime's image ID, from image garbage
// collection. If a removal of that image is in progress under another name, it waits for the removal and
// inspects again.
func (w *imageToEnsure) inspectAndLease(ctx context.Context) (resolvedImage, error) {
	for {
		image, err := w.inspectImage(ctx)
		if err != nil {
			return image, err
		}
		image.release = w.lease.Release
		if waited, err := w.lease.AddName(ctx, image.Ref); err != nil || !waited {
			return image, err
		}
	}
}

// inspectImage returns the runtime's ID, user and size of the image. The error of a missing image is
// runtime.ErrNotFound.
func (w *imageToEnsure) inspectImage(ctx context.Context) (resolvedImage, error) {
	var image runtime.Image
	err := w.callWithTimeout(ctx, w.cfg.CallTimeout, func(ctx context.Context) (err error) {
		image, err = w.cfg.Runtime.ImageStatus(ctx, runtime.ImageStatusRequest{Image: w.name, Pod: w.runtimePodRef(), Container: w.container, Volume: w.volume})
		return err
	})
	return resolvedImage{Image: request.Image{Ref: image.ID, User: image.User}, name: w.name, size: image.SizeBytes}, err
}

// pullUnlessBackedOff pulls the image and inspects it. During the back-off after a failed pull it does not
// pull: it returns an ImagePullBackOff error with the time of the next attempt, and records the event BackOff
// once for each back-off. A success deletes the stored failures of the image.
func (w *imageToEnsure) pullUnlessBackedOff(ctx context.Context) (resolvedImage, error) {
	past, now := w.incarnation.pullHistories[w.name], w.executor.Now()
	if wait := w.cfg.ImagePull.Remaining(past.backoff, now); wait > 0 {
		if !past.recorded {
			w.recordEvent(w.container, eventBackOff, "Back-off pulling image %q", w.name)
			past.recorded = true
			w.incarnation.pullHistories[w.name] = past
		}
		err := fmt.Errorf("back-off pulling image %q: %w", w.name, past.err)
		return resolvedImage{}, podworkers.RetryAfter(withWaitingReason(podstatus.ReasonImagePullBackOff, err), now.Add(wait))
	}
	auths := w.pullCredentials(ctx, w.name)
	w.recordEvent(w.container, eventPulling, "Pulling image %q", w.name)
	var pulled images.Pulled
	var err error
	podworkers.WithoutSlot(ctx, func() {
		pulled, err = w.images.Pull(ctx, images.PullRequest{Image: w.name, Pod: w.runtimePodRef(), Container: w.container, Volume: w.volume, Auths: auths})
	})
	if err != nil {
		return resolvedImage{}, w.recordPullFailureAndReturnRetryError(ctx, err)
	}
	delete(w.incarnation.pullHistories, w.name)
	return w.describePulled(ctx, pulled)
}

// recordPullFailureAndReturnRetryError records the event Failed, lengthens the pull back-off of the image, and
// returns err with a waiting reason and the time of the next sync. It also deletes the stored failures of
// images that the pod no longer uses. If ctx has ended, it only returns the error of ctx.
func (w *imageToEnsure) recordPullFailureAndReturnRetryError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.recordWarning(w.container, eventFailed, "Failed to pull image %q: %v", w.name, err)
	w.pullProblems.failed = true
	now := w.executor.Now()
	failed := w.cfg.ImagePull.Failed(w.incarnation.pullHistories[w.name].backoff, now)
	w.incarnation.forgetUnusedPulls(w.pod)
	if w.incarnation.pullHistories == nil {
		w.incarnation.pullHistories = make(map[string]pullHistory)
	}
	w.incarnation.pullHistories[w.name] = pullHistory{backoff: failed, err: err}
	// As in the kubelet, a failed sync is repeated after ten seconds at the latest. If the back-off is
	// longer, the status shows first the reason of the failure and then ImagePullBackOff.
	wait := min(w.cfg.ImagePull.Remaining(failed, now), backoff.DefaultBackoff)
	return podworkers.RetryAfter(withWaitingReason(waitingReasonOfPull(err), err), now.Add(wait))
}

// waitingReasonOfPull returns the waiting reason for the error of an image pull: SignatureValidationFailed,
// RegistryUnavailable or, for any other error, ErrImagePull (IM-5).
func waitingReasonOfPull(err error) podstatus.Reason {
	switch {
	case errors.Is(err, runtime.ErrSignature):
		return podstatus.ReasonSignatureValidationFailed
	case errors.Is(err, runtime.ErrRegistryUnavailable):
		return podstatus.ReasonRegistryUnavailable
	}
	return podstatus.ReasonErrImagePull
}

// forgetUnusedPulls deletes the stored pull failures of images that no container and no image volume of the pod
// uses. So a pod whose image changes again and again does not fill the map.
func (inc *incarnation) forgetUnusedPulls(pod *v1.Pod) {
	if len(inc.pullHistories) == 0 {
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
	maps.DeleteFunc(inc.pullHistories, func(name string, _ pullHistory) bool { return !wanted[name] })
}

// describePulled inspects an image after its pull, protects it under the runtime's image ID from garbage
// collection, records the event Pulled and calls Hooks.ImagePulled. It ignores a failed inspection, unless ctx
// has ended, the container needs the user of the image, or the image may have been removed meanwhile.
func (w *imageToEnsure) describePulled(ctx context.Context, pulled images.Pulled) (resolvedImage, error) {
	waited, err := w.lease.AddName(ctx, pulled.Ref)
	if err != nil {
		return resolvedImage{}, err
	}
	seen, err := w.inspectImage(ctx)
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
		return image, withWaitingReason(podstatus.ReasonImageInspectError, err)
	}
	return image, nil
}

// pullPolicy returns the pull policy of the spec. If that is empty, it returns Always for an image name with
// the tag latest, and IfNotPresent for any other name.
func pullPolicy(policy v1.PullPolicy, name string) v1.PullPolicy {
	switch {
	case policy != "":
		return policy
	case strings.HasSuffix(name, ":latest"):
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}
