package volumestest

import (
	"context"
	"path/filepath"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/runtime"
)

// caseEnv is the environment of one case: the harness, and the pods that the case has created.
type caseEnv struct {
	conformance.Bench
	Harness
	pods []types.UID
}

// tearDownPods tears down the volumes of all pods that the case has created, also after its context has ended.
// An error fails the case, but does not prevent the other pods from being torn down.
func (b *caseEnv) tearDownPods() {
	for _, uid := range b.pods {
		if err := b.Volumes.TearDown(context.WithoutCancel(b.Context()), uid); err != nil {
			b.Errorf("TearDown(%s) at the end: %v", uid, err)
		}
	}
}

// newPod returns a pod with an emptyDir volume for each name, and one container that mounts each volume at "/"
// and its name. The case tears down the pod at its end.
func (b *caseEnv) newPod(name string, volumes ...string) *v1.Pod {
	p := &v1.Pod{}
	p.Name, p.Namespace, p.UID = name, "volumestest", types.UID("volumestest-"+name)
	c := v1.Container{Name: "c"}
	for _, v := range volumes {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: v, VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
		c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: v, MountPath: "/" + v})
	}
	p.Spec.Containers = []v1.Container{c}
	b.pods = append(b.pods, p.UID)
	return p
}

// mustSetUp calls SetUp for a pod. It fails the case if SetUp returns an error or changes the pod.
func (b *caseEnv) mustSetUp(p *v1.Pod) {
	b.Helper()
	before := p.DeepCopy()
	b.Must(b.Volumes.SetUp(b.Context(), p), "SetUp")
	b.checkUnchanged("SetUp", before, p)
}

// mustGetAndCheckMounts returns the mounts of a container. It fails the case if Mounts returns an error, a
// wrong number of mounts or a relative HostPath, or changes the pod.
func (b *caseEnv) mustGetAndCheckMounts(p *v1.Pod, c *v1.Container) []runtime.Mount {
	b.Helper()
	before := p.DeepCopy()
	mounts, err := b.Volumes.Mounts(b.Context(), p, c, expandNothing)
	b.Must(err, "Mounts")
	b.checkUnchanged("Mounts", before, p)
	if len(mounts) != len(c.VolumeMounts) {
		b.Failf("Mounts returned %d mounts for %d volumeMounts", len(mounts), len(c.VolumeMounts))
	}
	for i := range mounts {
		if !filepath.IsAbs(mounts[i].HostPath) {
			b.Failf("Mounts: the HostPath %q of %s is not absolute", mounts[i].HostPath, mounts[i].ContainerPath)
		}
	}
	return mounts
}

// volumePath returns the host path of the first mount of the pod's first container.
func (b *caseEnv) volumePath(p *v1.Pod) string {
	b.Helper()
	return b.mustGetAndCheckMounts(p, &p.Spec.Containers[0])[0].HostPath
}

// checkUnchanged fails the case if the pod after a call differs from the copy made before it.
func (b *caseEnv) checkUnchanged(call string, before, after *v1.Pod) {
	b.Helper()
	if !reflect.DeepEqual(before, after) {
		b.Failf("%s has changed the pod", call)
	}
}

// expandNothing returns its argument. It is the expand function for calls of Mounts without variables.
func expandNothing(s string) (string, error) { return s, nil }
