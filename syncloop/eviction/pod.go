package eviction

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podresources"
)

// Pod is a pod of the node whose containers have not stopped or whose volumes and cgroup are not removed. NewPod
// makes it, and the caller sets the exported fields again before each pass.
type Pod struct {
	// Usage is the measured usage of the pod.
	Usage Usage
	// Terminating: the pod terminates already.
	Terminating bool
	// StopBy is when the grace period of a terminating pod ends. Zero: unknown.
	StopBy time.Time
	// Stopped: the containers of the pod have stopped, but its volumes and its cgroup are not removed yet. Passes
	// wait for such a pod as for a terminating one, and never evict it.
	Stopped bool

	pod                           *v1.Pod
	priority                      int32
	isCritical                    bool
	memoryRequest, storageRequest int64
	storageLimit                  *resource.Quantity // nil: no container has a limit
	containers                    []*v1.Container    // regular containers and sidecars
	localVolumes                  map[string]bool    // volumes whose usage counts for the pod
	limitedVolumes                []limitedVolume
}

// limitedVolume is an emptyDir with a size limit.
type limitedVolume struct {
	name  string
	limit resource.Quantity
}

// Usage is the measured usage of a pod. A nil figure is unknown and counts as 0.
type Usage struct {
	// Measured is false if the usage of the pod could not be measured. Such a pod is evicted before all others.
	Measured bool
	// StorageIncomplete: the local storage of the pod could not be measured completely, and its figures are lower bounds.
	// For a signal about a disk the pod counts as one that is not measured. It exceeds a limit of local storage if a
	// lower bound is above that limit.
	StorageIncomplete bool
	// MemoryBytes is the working set of the pod.
	MemoryBytes *uint64
	// Processes is the number of processes of the pod.
	Processes *uint64
	// Containers has the usage of running containers.
	Containers []ContainerUsage
	// Volumes has the usage of volumes by the names in the spec of the pod.
	Volumes []VolumeUsage
	// Other is the disk usage of other files of the pod, such as its hosts file.
	Other DiskUsage
}

// ContainerUsage is the usage of a container.
type ContainerUsage struct {
	Name        string
	MemoryBytes *uint64
	// Layer is the writable layer.
	Layer DiskUsage
	Logs  DiskUsage
}

// VolumeUsage is the usage of a volume.
type VolumeUsage struct {
	Name string
	DiskUsage
}

// DiskUsage is a number of bytes and inodes on a file system.
type DiskUsage struct{ Bytes, Inodes *uint64 }

// NewPod returns a pod with the facts of its spec. The spec must not change later. The caller may store the result
// for as long as the spec of the pod is the same. The spec should have the allocated resources.
func NewPod(pod *v1.Pod) Pod {
	requests := podresources.Requests(pod)
	p := Pod{
		pod: pod, isCritical: podspec.IsCritical(pod), localVolumes: map[string]bool{},
		memoryRequest: valueSaturating(requests.Memory()), storageRequest: valueSaturating(requests.StorageEphemeral()), storageLimit: storageLimitOfPod(pod),
	}
	if pod.Spec.Priority != nil {
		p.priority = *pod.Spec.Priority
	}
	for i := range pod.Spec.Containers {
		p.containers = append(p.containers, &pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if podspec.IsSidecar(&pod.Spec.InitContainers[i]) {
			p.containers = append(p.containers, &pod.Spec.InitContainers[i])
		}
	}
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.ConfigMap != nil, v.GitRepo != nil:
			p.localVolumes[v.Name] = true
		case v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault:
			p.localVolumes[v.Name] = true
			if limit := v.EmptyDir.SizeLimit; limit != nil && limit.Sign() > 0 {
				p.limitedVolumes = append(p.limitedVolumes, limitedVolume{v.Name, *limit})
			}
		}
	}
	return p
}

// Pod returns the pod that NewPod was called with.
func (p *Pod) Pod() *v1.Pod { return p.pod }

// HasLocalLimit reports whether the pod has a limit of local storage that a pass enforces. Only then a pass without
// pressure needs the usage of the pod.
func (p *Pod) HasLocalLimit() bool {
	return !p.isCritical && (len(p.limitedVolumes) > 0 || p.storageLimit != nil)
}

// storageLimitOfPod returns the limit of ephemeral storage of the whole pod, or nil if no container has one. A
// container without a limit adds nothing. The limit counts regular containers and sidecars, or an init container
// with the sidecars before it if that is more. (EV-28)
func storageLimitOfPod(pod *v1.Pod) *resource.Quantity {
	var regular, sidecars, initial resource.Quantity
	found := false
	limitOf := func(c *v1.Container) resource.Quantity {
		limit, ok := c.Resources.Limits[v1.ResourceEphemeralStorage]
		found = found || ok
		return limit
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		limit := limitOf(c)
		if podspec.IsSidecar(c) {
			sidecars.Add(limit)
			limit = sidecars.DeepCopy()
		} else {
			limit.Add(sidecars)
		}
		if limit.Cmp(initial) > 0 {
			initial = limit
		}
	}
	for i := range pod.Spec.Containers {
		regular.Add(limitOf(&pod.Spec.Containers[i]))
	}
	regular.Add(sidecars)
	if initial.Cmp(regular) > 0 {
		regular = initial
	}
	if !found {
		return nil
	}
	return &regular
}

// graceSeconds returns the grace period of the pod: the smaller one of spec and deletion.
func (p *Pod) graceSeconds() int64 {
	grace := int64(v1.DefaultTerminationGracePeriodSeconds)
	if s := p.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = *s
	}
	if d := p.pod.DeletionGracePeriodSeconds; d != nil {
		grace = min(grace, *d)
	}
	return max(grace, MinGraceSeconds)
}

// diskParts says which parts of the disk usage of a pod count.
type diskParts struct{ layers, logs, volumes bool }

// diskPartsOf returns the parts of a pod's disk usage that are on the file system of the signal. (EV-20)
func diskPartsOf(s Signal, layout Layout) diskParts {
	switch {
	case layout == OneFilesystem:
		return diskParts{layers: true, logs: true, volumes: true}
	case layout == SplitImages:
		return diskParts{layers: s.isNodeFs(), logs: s.isNodeFs(), volumes: s.isNodeFs()}
	}
	return diskParts{layers: !s.isNodeFs(), logs: s.isNodeFs(), volumes: s.isNodeFs()}
}

// diskUsage returns the bytes of the pod on disk, or its inodes, counting the given parts. The sum saturates.
func (p *Pod) diskUsage(parts diskParts, inodes bool) (sum int64) {
	add := func(d DiskUsage) {
		figure := d.Bytes
		if inodes {
			figure = d.Inodes
		}
		sum = addSaturating(sum, sumFigures(figure))
	}
	for _, c := range p.Usage.Containers {
		if parts.layers {
			add(c.Layer)
		}
		if parts.logs {
			add(c.Logs)
		}
	}
	if parts.volumes {
		for _, v := range p.Usage.Volumes {
			if p.localVolumes[v.Name] {
				add(v.DiskUsage)
			}
		}
	}
	return sum
}

// comparePodNames orders pods by namespace, name and UID.
func comparePodNames(a, b *Pod) int {
	return cmp.Or(cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name), cmp.Compare(a.pod.UID, b.pod.UID))
}
