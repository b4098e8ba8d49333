package podresources

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// QOSClass returns the quality of service class of a pod, from cpu and memory. It is Guaranteed if every container has
// equal requests and limits of both, BestEffort if no container has a request or limit, and otherwise Burstable. If
// spec.resources of the pod has cpu or memory, only spec.resources counts.
func QOSClass(pod *v1.Pod) v1.PodQOSClass { return podspec.QOSClass(pod) }

// Requests returns the requests of a pod as a whole, overhead included. The caller owns the list.
func Requests(pod *v1.Pod) v1.ResourceList { return podspec.Requests(pod) }

// Limits returns the limits of a pod as a whole, overhead included. A resource has a limit only if every container or
// spec.resources limits it. A limit of zero means unlimited. The caller owns the list.
func Limits(pod *v1.Pod) v1.ResourceList { return podspec.Limits(pod) }

// PodValues are the values of the cgroup of one pod. They can be compared by ==.
type PodValues struct {
	// QOSClass selects the directory of the cgroup.
	QOSClass v1.PodQOSClass
	// CPUShares are in the unit of cgroup v1. WeightFromShares converts them for cgroup v2.
	CPUShares Value
	// CPUQuota is the CPU time in microseconds that the pod may use in each CPUPeriod.
	CPUQuota Value
	// CPUPeriod is in microseconds.
	CPUPeriod Value
	// Memory is in bytes.
	Memory Value
	// PIDs is the number of processes and threads, including the process of the sandbox.
	PIDs Value
}

// Policy has the settings of a node that PodValues depend on. The zero Policy is the default of the kubelet.
type Policy struct {
	// CPUPeriod is the period of CPU quotas. Zero means DefaultCPUPeriod.
	CPUPeriod time.Duration
	// IgnoreCPULimits makes every CPU quota unlimited.
	IgnoreCPULimits bool
	// MaxPIDs is the number of processes and threads that each pod may have. If it is unset, the PIDs of the pods stay
	// unset.
	MaxPIDs Value
}

// ValuesForPod returns the values of the cgroup of a pod with the given spec. The caller passes the allocated spec,
// with the resources that the node has admitted. A resource without a limit is unlimited, not unset, so that the
// cgroup loses a limit that a former spec had. A BestEffort pod has MinShares and no limits, whatever its overhead. The
// QoS class is the one in the status of the pod, if it has one, because it is fixed for the life of a pod.
func ValuesForPod(pod *v1.Pod, policy Policy) PodValues {
	values := PodValues{
		QOSClass:  fixedQOSClass(pod),
		CPUShares: Finite(MinShares),
		CPUQuota:  Unlimited(),
		CPUPeriod: Finite(policy.cpuPeriod().Microseconds()),
		Memory:    Unlimited(),
		PIDs:      policy.MaxPIDs,
	}
	if values.QOSClass != v1.PodQOSBestEffort {
		limits := podspec.Limits(pod)
		values.CPUShares = Finite(SharesFromMilliCPU(MilliCPU(podspec.Requests(pod))))
		values.CPUQuota = policy.cpuQuota(MilliCPU(limits))
		values.Memory = memoryLimit(limits)
	}
	return values
}

// fixedQOSClass returns the QoS class in the status of a pod. It returns the class of the spec if the status has none, or
// an unknown one.
func fixedQOSClass(pod *v1.Pod) v1.PodQOSClass {
	switch class := pod.Status.QOSClass; class {
	case v1.PodQOSGuaranteed, v1.PodQOSBurstable, v1.PodQOSBestEffort:
		return class
	}
	return podspec.QOSClass(pod)
}

// cpuPeriod returns the period of CPU quotas.
func (p Policy) cpuPeriod() time.Duration {
	if p.CPUPeriod <= 0 {
		return DefaultCPUPeriod
	}
	return p.CPUPeriod
}

// cpuQuota returns the CPU quota for a limit in thousandths of a CPU. It is unlimited if the limit is 0 or the policy
// ignores CPU limits.
func (p Policy) cpuQuota(milliCPU int64) Value {
	quota := QuotaFromMilliCPU(milliCPU, p.cpuPeriod())
	if quota == 0 || p.IgnoreCPULimits {
		return Unlimited()
	}
	return Finite(quota.Microseconds())
}

// memoryLimit returns the memory limit in bytes. It is unlimited if the list has no memory or 0.
func memoryLimit(limits v1.ResourceList) Value {
	if bytes := limits.Memory().Value(); bytes > 0 {
		return Finite(bytes)
	}
	return Unlimited()
}
