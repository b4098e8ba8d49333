package volume

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Mount is one mount of a container. The caller sets the path on the host. If the Mount has an Image,
// which is the reference of an image volume, there is no such path.
type Mount struct {
	runtime.Mount            // without its HostPath
	Index         int        // the index in the volumeMounts of the container
	Volume        *v1.Volume // the mounted volume
	SubPath       string     // the path in the volume; "." is the whole volume
}

// Mounts returns the mounts of a container, in the order of its volumeMounts. expand replaces
// references in a subPathExpr.
func Mounts(pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]Mount, error) {
	var out []Mount
	for i := range c.VolumeMounts {
		m, err := convertMount(pod, &c.VolumeMounts[i], expand)
		if err != nil {
			return nil, fmt.Errorf("container %s: volumeMounts[%d] (%s): %w", c.Name, i, c.VolumeMounts[i].Name, err)
		}
		m.Index = i
		out = append(out, m)
	}
	return out, nil
}

// convertMount checks a volumeMount and converts it for the runtime, without the Index. Mounts of images, and
// of volumes whose files the agent writes, are always read-only.
func convertMount(pod *v1.Pod, m *v1.VolumeMount, expand func(string) (string, error)) (out Mount, err error) {
	if out.Volume = VolumeByName(pod, m.Name); out.Volume == nil {
		return Mount{}, fmt.Errorf("the pod has no volume %q", m.Name)
	}
	if out.ContainerPath, err = cleanMountPath(m.MountPath); err != nil {
		return Mount{}, fmt.Errorf("mountPath: %w", err)
	}
	if out.SubPath, err = resolveSubPath(m, expand); err != nil {
		return Mount{}, err
	}
	if out.Propagation, err = convertMountPropagation(m); err != nil {
		return Mount{}, err
	}
	if out.RecursiveReadOnly, err = convertRecursiveReadOnly(m); err != nil {
		return Mount{}, err
	}
	kind := KindOf(out.Volume)
	out.ReadOnly = m.ReadOnly || kind.HasFiles() || kind == Image
	if kind == Image {
		out.Image = out.Volume.Image.Reference
		if out.SubPath != "." {
			out.ImageSubPath = out.SubPath
		}
	}
	return out, nil
}

// resolveSubPath returns the cleaned path within the volume for a volumeMount. The path is the subPath or, if
// it is set, the subPathExpr with its references expanded. It returns "." if neither is set. It returns an
// error for an invalid path, and for a reference without a value.
func resolveSubPath(m *v1.VolumeMount, expand func(string) (string, error)) (string, error) {
	if m.SubPathExpr == "" {
		p, err := CleanSubPath(m.SubPath)
		if err != nil {
			return "", fmt.Errorf("subPath: %w", err)
		}
		return p, nil
	}
	p, err := expand(m.SubPathExpr)
	if err != nil {
		return "", fmt.Errorf("subPathExpr: %w", err)
	}
	if p, err = CleanSubPath(p); err != nil {
		return "", fmt.Errorf("subPathExpr: %w", err)
	}
	return p, nil
}

// convertMountPropagation converts the mountPropagation of a volumeMount for the runtime. The default is
// private. An unknown value is an error.
func convertMountPropagation(m *v1.VolumeMount) (runtime.Propagation, error) {
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

// convertRecursiveReadOnly converts the recursiveReadOnly of a volumeMount for the runtime. The default is
// disabled. It returns an error for an unknown value. It also returns an error if recursive read-only is
// requested for a mount that is not readOnly or has a mountPropagation.
func convertRecursiveReadOnly(m *v1.VolumeMount) (runtime.RecursiveReadOnly, error) {
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
	switch spread, err := convertMountPropagation(m); {
	case !m.ReadOnly:
		return 0, fmt.Errorf("the mount is not readOnly")
	case err == nil && spread != runtime.PropagationPrivate:
		return 0, fmt.Errorf("it is not allowed with mountPropagation %s", *m.MountPropagation)
	}
	return out, nil
}
