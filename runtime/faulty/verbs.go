package faulty

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

func (b *wrapper) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	list, err := callWithFaults(ctx, b, ListPods, callSubject{}, func() ([]runtime.Pod, error) { return b.inner.ListPods(ctx) })
	if err != nil {
		return nil, err
	}
	return b.f.omitFromList(list), nil
}

func (b *wrapper) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	st, err := callWithFaults(ctx, b, PodStatus, b.f.subjectOfPod(uid), func() (*runtime.PodStatus, error) { return b.inner.PodStatus(ctx, uid) })
	if err != nil || st == nil { // A nil status without error is a fault of the wrapped runtime itself.
		return nil, err
	}
	return b.f.omitFromStatus(st), nil
}

func (b *wrapper) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	a := callSubject{uid: req.Pod.UID, pod: req.Pod.Name}
	return callWithFaults(ctx, b, RunSandbox, a, func() (string, error) {
		id, err := b.inner.RunSandbox(ctx, req)
		if err == nil {
			b.f.storeSubject(id, a)
		}
		return id, err
	})
}

func (b *wrapper) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	return callErrorWithFaults(ctx, b, StopSandbox, b.findSubject(ctx, req.SandboxID), func() error { return b.inner.StopSandbox(ctx, req) })
}

func (b *wrapper) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	return callErrorWithFaults(ctx, b, RemoveSandbox, b.findSubject(ctx, req.SandboxID), func() error { return b.inner.RemoveSandbox(ctx, req) })
}

func (b *wrapper) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	a := callSubject{uid: req.Pod.UID, pod: req.Pod.Name, container: req.Name}
	return callWithFaults(ctx, b, CreateContainer, a, func() (string, error) {
		id, err := b.inner.CreateContainer(ctx, req)
		if err == nil {
			b.f.storeSubject(id, a)
		}
		return id, err
	})
}

func (b *wrapper) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	return callErrorWithFaults(ctx, b, StartContainer, b.findSubject(ctx, req.ContainerID), func() error { return b.inner.StartContainer(ctx, req) })
}

func (b *wrapper) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	return callErrorWithFaults(ctx, b, StopContainer, b.findSubject(ctx, req.ContainerID), func() error { return b.inner.StopContainer(ctx, req) })
}

func (b *wrapper) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	return callErrorWithFaults(ctx, b, RemoveContainer, b.findSubject(ctx, req.ContainerID), func() error { return b.inner.RemoveContainer(ctx, req) })
}

func (b *wrapper) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	a := callSubject{req.Pod.UID, req.Pod.Name, req.Container}
	return callWithFaults(ctx, b, PullImage, a, func() (string, error) { return b.inner.PullImage(ctx, req) })
}

func (b *wrapper) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	a := callSubject{req.Pod.UID, req.Pod.Name, req.Container}
	return callWithFaults(ctx, b, ImageStatus, a, func() (runtime.Image, error) { return b.inner.ImageStatus(ctx, req) })
}

func (b *wrapper) ListImages(ctx context.Context) ([]runtime.Image, error) {
	return callWithFaults(ctx, b, ListImages, callSubject{}, func() ([]runtime.Image, error) { return b.inner.ListImages(ctx) })
}

func (b *wrapper) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	return callErrorWithFaults(ctx, b, RemoveImage, callSubject{}, func() error { return b.inner.RemoveImage(ctx, req) })
}

// omitFromList returns the list of pods without the pods and containers that Omit rules remove. It modifies
// only copies, because the runtime may share the list. It also stores which pod and container each listed ID
// belongs to, and counts the rules' matches.
func (f *Faults) omitFromList(list []runtime.Pod) []runtime.Pod {
	f.storeSubjects(list)
	rules := f.countAndListOmitRules(ListPods, func(r Rule) bool {
		return slices.ContainsFunc(list, func(p runtime.Pod) bool { return omitsFromPod(r, p) })
	})
	if len(rules) == 0 {
		return list
	}
	list = slices.Clone(list)
	for _, r := range rules {
		if r.Container == "" {
			list = slices.DeleteFunc(list, func(p runtime.Pod) bool { return omitsFromPod(r, p) })
			continue
		}
		for i, p := range list {
			if omitsFromPod(r, p) {
				list[i].Containers = slices.DeleteFunc(slices.Clone(p.Containers), func(c runtime.Container) bool { return c.Name == r.Container })
			}
		}
	}
	return list
}

// omitsFromPod reports whether an Omit rule removes the listed pod or one of its containers.
func omitsFromPod(rule Rule, pod runtime.Pod) bool {
	return rule.matchesSubject(callSubject{pod.UID, pod.Name, rule.Container}) &&
		(rule.Container == "" || slices.ContainsFunc(pod.Containers, func(c runtime.Container) bool { return c.Name == rule.Container }))
}

// omitFromStatus returns the status without the containers that Omit rules remove, or an empty status if a rule
// removes the pod. It modifies only copies, and counts the rules' matches.
func (f *Faults) omitFromStatus(st *runtime.PodStatus) *runtime.PodStatus {
	named := func(name string) func(runtime.ContainerStatus) bool {
		return func(c runtime.ContainerStatus) bool { return c.Name == name }
	}
	rules := f.countAndListOmitRules(PodStatus, func(r Rule) bool {
		return len(st.Sandboxes) > 0 && r.matchesSubject(callSubject{st.UID, st.Name, r.Container}) &&
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
