package podsync

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// volumeImage is the image of an image volume, or the error of its pull.
type volumeImage struct {
	resolvedImage
	err error
}

// pullVolumeImagesOnceAndReturnOwnError pulls the images of all image volumes of the pod, once in a sync. It
// returns an error only if ctx has ended or an image that this container mounts has failed. If several have
// failed, it returns the error of the last mount.
func (st *containerStart) pullVolumeImagesOnceAndReturnOwnError(ctx context.Context) (err error) {
	if st.volumeImages == nil {
		if err := st.pullVolumeImages(ctx); err != nil {
			return err
		}
	}
	for i := range st.Container.VolumeMounts {
		if image := st.volumeImages[st.Container.VolumeMounts[i].Name]; image.err != nil {
			err = image.err
		}
	}
	return err
}

// pullVolumeImages pulls the images of the pod's image volumes, as their pull policies require, one after the
// other. It stores each image or its error in volumeImages. It returns an error only if ctx has ended.
func (p *podStarter) pullVolumeImages(ctx context.Context) error {
	all := map[string]volumeImage{}
	p.volumeImages = all
	for i := range p.pod.Spec.Volumes {
		volume := &p.pod.Spec.Volumes[i]
		if volume.Image == nil {
			continue
		}
		var image volumeImage
		wanted := imageToEnsure{
			podStarter: p, reference: volume.Image.Reference, policy: volume.Image.PullPolicy, volume: volume.Name, users: containersMountingVolume(p.pod, volume.Name),
		}
		image.resolvedImage, image.err = wanted.ensurePresentAndLease(ctx)
		if isCancelled(ctx, image.err) {
			return image.err
		}
		all[volume.Name] = image
	}
	return nil
}

// containersMountingVolume returns the names of the containers of the pod, of any kind, that mount a volume.
func containersMountingVolume(pod *v1.Pod, volume string) (names []string) {
	for c := range podspec.AllAndEphemeralContainers(pod) {
		if slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool { return m.Name == volume }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// releaseVolumeImages ends the protection of the volume images from garbage collection, and clears
// volumeImages. From then on the containers that use the images protect them.
func (p *podStarter) releaseVolumeImages() {
	for _, image := range p.volumeImages {
		if image.err == nil {
			image.release()
		}
	}
	p.volumeImages = nil
}

// replaceMountImages changes the mounts of image volumes in place: each pulled image is named by its runtime
// ID, and its mount becomes read-only.
func (p *podStarter) replaceMountImages(mounts []runtime.Mount) {
	refs := make(map[string]string, len(p.volumeImages))
	for i := range p.pod.Spec.Volumes {
		volume := &p.pod.Spec.Volumes[i]
		if image, ok := p.volumeImages[volume.Name]; ok && image.err == nil {
			refs[volume.Image.Reference] = image.Ref
		}
	}
	for i := range mounts {
		if ref := refs[mounts[i].Image]; mounts[i].Image != "" && ref != "" {
			mounts[i].Image, mounts[i].ReadOnly = ref, true
		}
	}
}
