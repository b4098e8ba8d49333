package podresources_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

// list parses "cpu=1 memory=2Gi".
func list(text string) v1.ResourceList {
	if text == "" {
		return nil
	}
	l := v1.ResourceList{}
	for _, word := range strings.Fields(text) {
		name, quantity, _ := strings.Cut(word, "=")
		l[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return l
}

func requirements(requests, limits string) v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: list(requests), Limits: list(limits)}
}

func container(requests, limits string) v1.Container {
	return v1.Container{Name: "c", Resources: requirements(requests, limits)}
}

func sidecar(requests, limits string) v1.Container {
	return v1.Container{Name: "s", Resources: requirements(requests, limits), RestartPolicy: new(v1.ContainerRestartPolicyAlways)}
}

// format returns the values of a pod in one line.
func format(v podresources.PodValues) string {
	return fmt.Sprintf("%s shares=%v quota=%v period=%v memory=%v pids=%v", v.QOSClass, v.CPUShares, v.CPUQuota, v.CPUPeriod, v.Memory, v.PIDs)
}

// The class depends on cpu and memory above zero of regular and init containers, or on spec.resources alone (QR-2, QR-3,
// QR-4).
func TestQOSClass_QR2_QR3_QR4(t *testing.T) {
	both := "cpu=1 memory=1Gi"
	for name, c := range map[string]struct {
		spec v1.PodSpec
		want v1.PodQOSClass
	}{
		"nothing":                           {v1.PodSpec{Containers: []v1.Container{container("", "")}}, v1.PodQOSBestEffort},
		"zero":                              {v1.PodSpec{Containers: []v1.Container{container("cpu=0", "memory=0")}}, v1.PodQOSBestEffort},
		"another resource":                  {v1.PodSpec{Containers: []v1.Container{container("ephemeral-storage=1Gi", "example.com/gpu=1")}}, v1.PodQOSBestEffort},
		"ephemeral containers do not count": {v1.PodSpec{Containers: []v1.Container{container("", both)}, EphemeralContainers: []v1.EphemeralContainer{{}}}, v1.PodQOSGuaranteed},
		"a sidecar counts":                  {v1.PodSpec{Containers: []v1.Container{container("", both)}, InitContainers: []v1.Container{sidecar("", "")}}, v1.PodQOSBurstable},
		"an init container counts":          {v1.PodSpec{Containers: []v1.Container{container("", "")}, InitContainers: []v1.Container{container("cpu=1", "")}}, v1.PodQOSBurstable},
		"every container is guaranteed":     {v1.PodSpec{Containers: []v1.Container{container(both, both), container("", both)}}, v1.PodQOSGuaranteed},
		"equal sums are not enough": {v1.PodSpec{Containers: []v1.Container{
			container("cpu=1 memory=1Gi", "cpu=2 memory=2Gi"), container("cpu=2 memory=2Gi", "cpu=1 memory=1Gi"),
		}}, v1.PodQOSBurstable},
		"a request of zero is not the limit": {v1.PodSpec{Containers: []v1.Container{container("cpu=0", both)}}, v1.PodQOSBurstable},
		"the pod level replaces containers":  {v1.PodSpec{Containers: []v1.Container{container("cpu=100m", "")}, Resources: new(requirements(both, both))}, v1.PodQOSGuaranteed},
		"pod level requests only":            {v1.PodSpec{Containers: []v1.Container{container("", both)}, Resources: new(requirements("cpu=1", ""))}, v1.PodQOSBurstable},
	} {
		assert.Equal(t, c.want, podresources.QOSClass(&v1.Pod{Spec: c.spec}), name)
	}
}

// The values of pods of each class. Overhead counts, and shares of a BestEffort pod are the minimum (CG-10).
func TestValuesForPod_CG10(t *testing.T) {
	for name, c := range map[string]struct {
		spec v1.PodSpec
		want string
	}{
		"best effort":               {v1.PodSpec{Containers: []v1.Container{container("", "")}}, "BestEffort shares=2 quota=unlimited period=100000 memory=unlimited pids=unset"},
		"best effort with overhead": {v1.PodSpec{Containers: []v1.Container{container("", "")}, Overhead: list("cpu=1 memory=1Gi")}, "BestEffort shares=2 quota=unlimited period=100000 memory=unlimited pids=unset"},
		"guaranteed":                {v1.PodSpec{Containers: []v1.Container{container("", "cpu=500m memory=64Mi")}}, "Guaranteed shares=512 quota=50000 period=100000 memory=67108864 pids=unset"},
		"guaranteed with overhead":  {v1.PodSpec{Containers: []v1.Container{container("", "cpu=500m memory=64Mi")}, Overhead: list("cpu=500m memory=64Mi")}, "Guaranteed shares=1024 quota=100000 period=100000 memory=134217728 pids=unset"},
		"requests only":             {v1.PodSpec{Containers: []v1.Container{container("cpu=1 memory=1Gi", "")}}, "Burstable shares=1024 quota=unlimited period=100000 memory=unlimited pids=unset"},
		"memory limit only":         {v1.PodSpec{Containers: []v1.Container{container("", "memory=64Mi")}}, "Burstable shares=2 quota=unlimited period=100000 memory=67108864 pids=unset"},
		"the smallest quota":        {v1.PodSpec{Containers: []v1.Container{container("", "cpu=1m")}}, "Burstable shares=2 quota=1000 period=100000 memory=unlimited pids=unset"},
		"pod level limits": {
			v1.PodSpec{Containers: []v1.Container{container("cpu=1", "")}, Resources: new(requirements("cpu=2", "cpu=3 memory=1Gi"))},
			"Burstable shares=2048 quota=300000 period=100000 memory=1073741824 pids=unset",
		},
		"pod level huge pages only": {
			v1.PodSpec{Containers: []v1.Container{container("", "memory=64Mi")}, Resources: new(requirements("", "hugepages-2Mi=2Mi"))},
			"BestEffort shares=2 quota=unlimited period=100000 memory=unlimited pids=unset",
		},
		"a limit of zero": {v1.PodSpec{Containers: []v1.Container{container("cpu=1", "cpu=0 memory=0")}}, "Burstable shares=1024 quota=unlimited period=100000 memory=unlimited pids=unset"},
	} {
		assert.Equal(t, c.want, format(podresources.ValuesForPod(&v1.Pod{Spec: c.spec}, podresources.Policy{})), name)
	}
}

// One container without a limit may use everything, so the pod has no limit. Containers are counted one by one: the
// limit of a first sidecar does not count for a second one (CG-11, XB-43).
func TestValuesForPod_CG11_XB43_OneWithoutLimit(t *testing.T) {
	limited, free := "cpu=1 memory=1Gi", "cpu=1"
	for name, spec := range map[string]v1.PodSpec{
		"a regular container": {Containers: []v1.Container{container("", limited), container("", free)}},
		"an init container":   {InitContainers: []v1.Container{container("", free)}, Containers: []v1.Container{container("", limited)}},
		"a sidecar":           {InitContainers: []v1.Container{sidecar("", free)}, Containers: []v1.Container{container("", limited)}},
		"a second sidecar":    {InitContainers: []v1.Container{sidecar("", limited), sidecar("", free)}, Containers: []v1.Container{container("", limited)}},
		"a zero limit":        {Containers: []v1.Container{container("", limited), container("", "cpu=1 memory=0")}},
	} {
		values := podresources.ValuesForPod(&v1.Pod{Spec: spec}, podresources.Policy{})
		assert.Equal(t, podresources.Unlimited(), values.Memory, name)
		assert.False(t, values.CPUQuota.IsUnlimited(), "%s: all limit cpu", name)

		spec.Resources = new(requirements("", "memory=2Gi"))
		values = podresources.ValuesForPod(&v1.Pod{Spec: spec}, podresources.Policy{})
		assert.Equal(t, podresources.Finite(2<<30), values.Memory, "%s, and the pod level has one", name)
	}
}

// The settings of the node: period, no quota, and the limit of processes (CG-12).
func TestValuesForPod_CG12_Policy(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{container("", "cpu=500m memory=64Mi")}}}
	for _, c := range []struct {
		policy podresources.Policy
		want   string
	}{
		{podresources.Policy{CPUPeriod: 10 * time.Millisecond}, "Guaranteed shares=512 quota=5000 period=10000 memory=67108864 pids=unset"},
		{podresources.Policy{IgnoreCPULimits: true}, "Guaranteed shares=512 quota=unlimited period=100000 memory=67108864 pids=unset"},
		{podresources.Policy{MaxPIDs: podresources.Finite(64)}, "Guaranteed shares=512 quota=50000 period=100000 memory=67108864 pids=64"},
		{podresources.Policy{MaxPIDs: podresources.Unlimited()}, "Guaranteed shares=512 quota=50000 period=100000 memory=67108864 pids=unlimited"},
	} {
		assert.Equal(t, c.want, format(podresources.ValuesForPod(pod, c.policy)))
	}
}

// drawPod returns a random pod. Each limited resource has a request, as in a pod from an API server.
func drawPod(t *rapid.T) *v1.Pod {
	drawList := func(label string) v1.ResourceList {
		l := v1.ResourceList{}
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			if n := rapid.IntRange(-1, 4).Draw(t, label+" "+string(name)); n >= 0 {
				l[name] = *resource.NewMilliQuantity(int64(n)*500, resource.DecimalSI)
			}
		}
		return l
	}
	draw := func(label string) v1.Container {
		c := v1.Container{Name: label, Resources: v1.ResourceRequirements{Requests: drawList(label), Limits: drawList(label + " limit")}}
		for name, q := range c.Resources.Limits {
			if _, ok := c.Resources.Requests[name]; !ok {
				c.Resources.Requests[name] = q
			}
		}
		return c
	}
	pod := &v1.Pod{}
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		pod.Spec.Containers = append(pod.Spec.Containers, draw(fmt.Sprint("container ", i)))
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "init containers") {
		c := draw(fmt.Sprint("init ", i))
		if rapid.Bool().Draw(t, "sidecar") {
			c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if rapid.Bool().Draw(t, "pod level") {
		requests := drawList("pod")
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: requests}
		limits := drawList("pod limit")
		for name := range limits {
			if _, ok := requests[name]; !ok {
				delete(limits, name)
			}
		}
		pod.Spec.Resources.Limits = limits
	}
	if rapid.Bool().Draw(t, "overhead") {
		pod.Spec.Overhead = drawList("overhead")
	}
	return pod
}

// The values of random pods follow from the sums of k8s.io/component-helpers (QR-5, QR-6, QR-7). No argument is
// changed.
func TestValuesForPod_QR5_QR6_QR7_Helpers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := drawPod(t)
		before := pod.DeepCopy()
		values := podresources.ValuesForPod(pod, podresources.Policy{})
		assert.Equal(t, before, pod)
		if values.QOSClass == v1.PodQOSBestEffort {
			assert.Equal(t, podresources.PodValues{
				QOSClass: v1.PodQOSBestEffort, CPUShares: podresources.Finite(2), CPUQuota: podresources.Unlimited(),
				CPUPeriod: podresources.Finite(100000), Memory: podresources.Unlimited(),
			}, values)
			return
		}
		requests := helpers.PodRequests(pod, helpers.PodResourcesOptions{})
		assert.Equal(t, podresources.Finite(podresources.SharesFromMilliCPU(requests.Cpu().MilliValue())), values.CPUShares)
		limits := helpers.PodLimits(pod, helpers.PodResourcesOptions{})
		if n, ok := values.Memory.Number(); ok {
			assert.Equal(t, limits.Memory().Value(), n)
		}
		if n, ok := values.CPUQuota.Number(); ok {
			assert.Equal(t, podresources.QuotaFromMilliCPU(limits.Cpu().MilliValue(), podresources.DefaultCPUPeriod).Microseconds(), n)
		}
	})
}
