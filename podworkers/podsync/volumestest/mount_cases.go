package volumestest

import (
	"errors"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// errExpand is the error of a reference that cannot be expanded.
var errExpand = errors.New("volumestest: cannot be expanded")

var mountCases = []Case{
	{Name: "mounts/order", Promise: "Mounts returns one mount for each volumeMount, in their order, with its path and as read-only as it says.", run: func(b *caseEnv) {
		p := b.newPod("three", "b", "a", "c")
		c := &p.Spec.Containers[0]
		c.VolumeMounts[1].ReadOnly = true
		b.mustSetUp(p)
		for i, m := range b.mustGetAndCheckMounts(p, c) {
			if m.ContainerPath != c.VolumeMounts[i].MountPath || m.ReadOnly != c.VolumeMounts[i].ReadOnly {
				b.Failf("the mount of %s: %+v", c.VolumeMounts[i].Name, m)
			}
		}
	}},
	{Name: "mounts/none", Promise: "A container without volumeMounts has no mounts.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		b.mustSetUp(p)
		b.mustGetAndCheckMounts(p, &v1.Container{Name: "other"})
	}},
	{Name: "mounts/shared", Promise: "Two containers that mount a volume see the same, and no other volume or pod does.", run: func(b *caseEnv) {
		p, other := b.newPod("one", "data", "more"), b.newPod("two", "data")
		b.mustSetUp(p)
		b.mustSetUp(other)
		mounts := b.mustGetAndCheckMounts(p, &p.Spec.Containers[0])
		second := b.mustGetAndCheckMounts(p, &v1.Container{Name: "d", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/elsewhere"}}})
		if second[0].HostPath != mounts[0].HostPath {
			b.Failf("two containers have the volume at %s and at %s", mounts[0].HostPath, second[0].HostPath)
		}
		for _, at := range []string{mounts[1].HostPath, b.volumePath(other)} {
			if at == mounts[0].HostPath {
				b.Failf("two volumes are at %s", at)
			}
		}
	}},
	{Name: "mounts/sub-path-expr", Promise: "A subPathExpr is given to expand, and names a part of the volume by what that returns.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		b.mustSetUp(p)
		c := &v1.Container{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data", SubPathExpr: "$(NAME)"}}}
		asked := ""
		mounts, err := b.Volumes.Mounts(b.Context(), p, c, func(s string) (string, error) {
			asked = s
			return ".", nil
		})
		b.Must(err, "Mounts")
		if asked != "$(NAME)" || len(mounts) != 1 || path.Clean(mounts[0].HostPath) != path.Clean(b.volumePath(p)) {
			b.Failf("asked for %q, and got %+v", asked, mounts)
		}
	}},
	{Name: "mounts/not-expanded", Promise: "Mounts returns the error of expand, wrapped.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		b.mustSetUp(p)
		p.Spec.Containers[0].VolumeMounts[0].SubPathExpr = "$(NAME)"
		_, err := b.Volumes.Mounts(b.Context(), p, &p.Spec.Containers[0], func(string) (string, error) { return "", errExpand })
		if !errors.Is(err, errExpand) {
			b.Failf("Mounts: %v", err)
		}
	}},
	{Name: "mounts/outside", Promise: "A subPath that leads out of the volume is an error.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		b.mustSetUp(p)
		for _, sub := range []string{"..", "a/../../b", "/etc"} {
			c := p.Spec.Containers[0].DeepCopy()
			c.VolumeMounts[0].SubPath = sub
			mounts, err := b.Volumes.Mounts(b.Context(), p, c, expandNothing)
			if err == nil && !strings.HasPrefix(mounts[0].HostPath+"/", b.volumePath(p)+"/") {
				b.Failf("the subPath %q is %s", sub, mounts[0].HostPath)
			}
		}
	}},
	{Name: "mounts/image", Promise: "The mount of an image volume has no HostPath; it has the reference of the volume as Image and its subPath as ImageSubPath, and is read-only.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		p.Spec.Volumes[0].VolumeSource = v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "example.invalid/data:1"}}
		p.Spec.Containers[0].VolumeMounts[0].SubPath = "sub"
		if len(b.Volumes.Problems(p)) > 0 {
			b.Skipf("the Volumes have no image volumes")
			return
		}
		b.mustSetUp(p)
		mounts, err := b.Volumes.Mounts(b.Context(), p, &p.Spec.Containers[0], expandNothing)
		b.Must(err, "Mounts")
		want := runtime.Mount{ContainerPath: "/data", Image: "example.invalid/data:1", ImageSubPath: "sub", ReadOnly: true}
		if len(mounts) != 1 || mounts[0] != want {
			b.Failf("Mounts: %+v", mounts)
		}
	}},
	{Name: "mounts/no-such-volume", Promise: "A mount of a volume that the pod does not have is an error.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		b.mustSetUp(p)
		c := &v1.Container{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "other", MountPath: "/other"}}}
		if mounts, err := b.Volumes.Mounts(b.Context(), p, c, expandNothing); err == nil {
			b.Failf("Mounts: %+v", mounts)
		}
	}},
}
