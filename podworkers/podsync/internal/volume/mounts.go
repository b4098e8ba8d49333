package volume

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Mount is one that a container asks for. The caller finds the path on the host, unless the Mount
// has an Image: that is the reference of the volume.
type Mount struct {
	runtime.Mount            // without its HostPath
	Index         int        // in the spec of the container
	Volume        *v1.Volume // what is mounted
	SubPath       string     // the path below the volume, "." is all of it
}

// Mounts are the mounts of a container, in the order it lists them. Expand
// replaces references in a subPathExpr.
func Mounts(pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]Mount, error) {
	var out []Mount
	for i := range c.VolumeMounts {
		m, err := mountOf(pod, &c.VolumeMounts[i], expand)
		if err != nil {
			return nil, fmt.Errorf("container %s: volumeMounts[%d] (%s): %w", c.Name, i, c.VolumeMounts[i].Name, err)
		}
		m.Index = i
		out = append(out, m)
	}
	return out, nil
}

func mountOf(pod *v1.Pod, m *v1.VolumeMount, expand func(string) (string, error)) (out Mount, err error) {
	if out.Volume = Find(pod, m.Name); out.Volume == nil {
		return Mount{}, fmt.Errorf("the pod has no volume %q", m.Name)
	}
	if out.ContainerPath, err = inContainer(m.MountPath); err != nil {
		return Mount{}, fmt.Errorf("mountPath: %w", err)
	}
	if out.SubPath, err = subPath(m, expand); err != nil {
		return Mount{}, err
	}
	if out.Propagation, err = propagation(m); err != nil {
		return Mount{}, err
	}
	if out.RecursiveReadOnly, err = recursion(m); err != nil {
		return Mount{}, err
	}
	kind := Of(out.Volume)
	out.ReadOnly = m.ReadOnly || kind.HasFiles() || kind == Image
	if kind == Image {
		out.Image = out.Volume.Image.Reference
		if out.SubPath != "." {
			out.ImageSubPath = out.SubPath
		}
	}
	return out, nil
}

// subPath is the part of a volume that is mounted.
func subPath(m *v1.VolumeMount, expand func(string) (string, error)) (string, error) {
	if m.SubPathExpr == "" {
		p, err := Below(m.SubPath)
		if err != nil {
			return "", fmt.Errorf("subPath: %w", err)
		}
		return p, nil
	}
	p, err := expand(m.SubPathExpr)
	if err != nil {
		return "", fmt.Errorf("subPathExpr: %w", err)
	}
	if p, err = Below(p); err != nil {
		return "", fmt.Errorf("subPathExpr: %w", err)
	}
	return p, nil
}

func propagation(m *v1.VolumeMount) (runtime.Propagation, error) {
	if m.MountPropagation == nil {
		return runtime.PropagationPrivate, nil
	}
	switch p := *m.MountPropagation; p {
	case v1.MountPropagationNone, "":
		return runtime.PropagationPrivate, nil
	case v1.MountPropagationHostToContainer:
		return runtime.PropagationHostToContainer, nil
	case v1.MountPropagationBidirectional:
		return runtime.PropagationBidirectional, nil
	default:
		return 0, fmt.Errorf("%q is not known", string(p))
	}
}

// recursion is whether what is mounted below a mount is read-only, too.
func recursion(m *v1.VolumeMount) (runtime.RecursiveReadOnly, error) {
	if m.RecursiveReadOnly == nil {
		return runtime.RecursiveReadOnlyDisabled, nil
	}
	var out runtime.RecursiveReadOnly
	switch mode := *m.RecursiveReadOnly; mode {
	case v1.RecursiveReadOnlyDisabled:
		return runtime.RecursiveReadOnlyDisabled, nil
	case v1.RecursiveReadOnlyIfPossible:
		out = runtime.RecursiveReadOnlyIfPossible
	case v1.RecursiveReadOnlyEnabled:
		out = runtime.RecursiveReadOnlyEnabled
	default:
		return 0, fmt.Errorf("%q is not known", string(mode))
	}
	switch spread, err := propagation(m); {
	case !m.ReadOnly:
		return 0, fmt.Errorf("the mount is not readOnly")
	case err == nil && spread != runtime.PropagationPrivate:
		return 0, fmt.Errorf("it does not go with mountPropagation %s", *m.MountPropagation)
	}
	return out, nil
}
