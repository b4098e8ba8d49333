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

// bench is what a case works with.
type bench struct {
	conformance.Bench
	Harness
	pods []types.UID
}

// clear tears down what the case has set up, also after its context has ended.
func (b *bench) clear() {
	for _, uid := range b.pods {
		if err := b.Volumes.TearDown(context.WithoutCancel(b.Context()), uid); err != nil {
			b.Errorf("TearDown(%s) at the end: %v", uid, err)
		}
	}
}

// pod is a pod with emptyDir volumes, and one container that mounts all of them, each at
// a path with its name.
func (b *bench) pod(name string, volumes ...string) *v1.Pod {
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

// setUp sets a pod up, and holds that this leaves the pod as it is.
func (b *bench) setUp(p *v1.Pod) {
	b.Helper()
	before := p.DeepCopy()
	b.Must(b.Volumes.SetUp(b.Context(), p), "SetUp")
	b.same("SetUp", before, p)
}

// mounts are those of a container of the pod, as many as it asks for.
func (b *bench) mounts(p *v1.Pod, c *v1.Container) []runtime.Mount {
	b.Helper()
	before := p.DeepCopy()
	mounts, err := b.Volumes.Mounts(b.Context(), p, c, literal)
	b.Must(err, "Mounts")
	b.same("Mounts", before, p)
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

// path is where the only volume of a pod is on the host.
func (b *bench) path(p *v1.Pod) string {
	b.Helper()
	return b.mounts(p, &p.Spec.Containers[0])[0].HostPath
}

func (b *bench) same(call string, before, after *v1.Pod) {
	b.Helper()
	if !reflect.DeepEqual(before, after) {
		b.Failf("%s has changed the pod", call)
	}
}

// literal expands nothing.
func literal(s string) (string, error) { return s, nil }
