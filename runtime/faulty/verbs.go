package faulty

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

func (b *base) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	list, err := call(ctx, b, ListPods, about{}, func() ([]runtime.Pod, error) { return b.inner.ListPods(ctx) })
	if err != nil {
		return nil, err
	}
	return b.f.thinList(list), nil
}

func (b *base) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	st, err := call(ctx, b, PodStatus, b.f.ofPod(uid), func() (*runtime.PodStatus, error) { return b.inner.PodStatus(ctx, uid) })
	if err != nil || st == nil { // No status and no error is the runtime's own fault.
		return nil, err
	}
	return b.f.thinStatus(st), nil
}

func (b *base) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	a := about{uid: req.Pod.UID, pod: req.Pod.Name}
	return call(ctx, b, RunSandbox, a, func() (string, error) {
		id, err := b.inner.RunSandbox(ctx, req)
		if err == nil {
			b.f.learn(id, a)
		}
		return id, err
	})
}

func (b *base) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	return act(ctx, b, StopSandbox, b.byID(ctx, req.SandboxID), func() error { return b.inner.StopSandbox(ctx, req) })
}

func (b *base) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	return act(ctx, b, RemoveSandbox, b.byID(ctx, req.SandboxID), func() error { return b.inner.RemoveSandbox(ctx, req) })
}

func (b *base) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	a := about{uid: req.Pod.UID, pod: req.Pod.Name, container: req.Name}
	return call(ctx, b, CreateContainer, a, func() (string, error) {
		id, err := b.inner.CreateContainer(ctx, req)
		if err == nil {
			b.f.learn(id, a)
		}
		return id, err
	})
}

func (b *base) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	return act(ctx, b, StartContainer, b.byID(ctx, req.ContainerID), func() error { return b.inner.StartContainer(ctx, req) })
}

func (b *base) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	return act(ctx, b, StopContainer, b.byID(ctx, req.ContainerID), func() error { return b.inner.StopContainer(ctx, req) })
}

func (b *base) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	return act(ctx, b, RemoveContainer, b.byID(ctx, req.ContainerID), func() error { return b.inner.RemoveContainer(ctx, req) })
}

func (b *base) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	a := about{req.Pod.UID, req.Pod.Name, req.Container}
	return call(ctx, b, PullImage, a, func() (string, error) { return b.inner.PullImage(ctx, req) })
}

func (b *base) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	a := about{req.Pod.UID, req.Pod.Name, req.Container}
	return call(ctx, b, ImageStatus, a, func() (runtime.Image, error) { return b.inner.ImageStatus(ctx, req) })
}

func (b *base) ListImages(ctx context.Context) ([]runtime.Image, error) {
	return call(ctx, b, ListImages, about{}, func() ([]runtime.Image, error) { return b.inner.ListImages(ctx) })
}

func (b *base) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	return act(ctx, b, RemoveImage, about{}, func() error { return b.inner.RemoveImage(ctx, req) })
}

// thinList leaves out what the rules say. What the runtime returned is shared
// and stays as it is.
func (f *Faults) thinList(list []runtime.Pod) []runtime.Pod {
	f.learnAll(list)
	rules := f.omits(ListPods, func(r Rule) bool { return slices.ContainsFunc(list, func(p runtime.Pod) bool { return inPod(r, p) }) })
	if len(rules) == 0 {
		return list
	}
	list = slices.Clone(list)
	for _, r := range rules {
		if r.Container == "" {
			list = slices.DeleteFunc(list, func(p runtime.Pod) bool { return inPod(r, p) })
			continue
		}
		for i, p := range list {
			if inPod(r, p) {
				list[i].Containers = slices.DeleteFunc(slices.Clone(p.Containers), func(c runtime.Container) bool { return c.Name == r.Container })
			}
		}
	}
	return list
}

// inPod reports whether there is something of the pod to leave out.
func inPod(r Rule, p runtime.Pod) bool {
	return r.matches(about{p.UID, p.Name, r.Container}) &&
		(r.Container == "" || slices.ContainsFunc(p.Containers, func(c runtime.Container) bool { return c.Name == r.Container }))
}

// thinStatus leaves out what the rules say.
func (f *Faults) thinStatus(st *runtime.PodStatus) *runtime.PodStatus {
	named := func(name string) func(runtime.ContainerStatus) bool {
		return func(c runtime.ContainerStatus) bool { return c.Name == name }
	}
	rules := f.omits(PodStatus, func(r Rule) bool {
		return len(st.Sandboxes) > 0 && r.matches(about{st.UID, st.Name, r.Container}) &&
			(r.Container == "" || slices.ContainsFunc(st.Containers, named(r.Container)))
	})
	for _, r := range rules {
		if r.Container == "" {
			return &runtime.PodStatus{UID: st.UID}
		}
		thin := *st
		thin.Containers = slices.DeleteFunc(slices.Clone(st.Containers), named(r.Container))
		st = &thin
	}
	return st
}
