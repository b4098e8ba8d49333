package nodetest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/runtime/memory"
)

// randomSizedPod returns a pod of any QoS class with containers that use memory in different ways.
func randomSizedPod(random *rand.Rand, number int) *v1.Pod {
	name := fmt.Sprintf("p%d", number)
	if random.IntN(7) == 0 {
		name = fmt.Sprintf("static%d", number)
	}
	p := podOf(name, "run=forever")
	p.Annotations, p.Generation = map[string]string{}, 1
	p.Spec.TerminationGracePeriodSeconds = randomGrace(random)
	p.Spec.Containers = nil
	if random.IntN(8) == 0 {
		p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{Name: "i", Image: "i:1"})
		p.Annotations[memory.AnnotationPrefix+"i"] = "run=2s exit=0; run=1s exit=0"
	}
	if random.IntN(6) == 0 {
		p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{Name: "s", Image: "s:1", RestartPolicy: new(v1.ContainerRestartPolicyAlways)})
		p.Annotations[memory.AnnotationPrefix+"s"] = randomUsage(random)
	}
	for i := range 1 + random.IntN(2) {
		c := v1.Container{Name: string(rune('a' + i)), Image: "a:1"}
		if random.IntN(5) == 0 {
			c.ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}[random.IntN(2)], RestartPolicy: v1.RestartContainer}}
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
		p.Annotations[memory.AnnotationPrefix+c.Name] = randomUsage(random)
	}
	switch random.IntN(10) {
	case 0:
	case 1:
		p.Spec.Priority = new(int32(2_000_000_000))
	default:
		p.Spec.Priority = new(int32(random.IntN(3) * 100))
	}
	if random.IntN(8) == 0 {
		p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	}
	if random.IntN(4) == 0 {
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("500Mi"))}}}}
	}
	setSizes(random, p, random.IntN(10))
	if random.IntN(6) == 0 {
		c := &p.Spec.Containers[0].Resources
		if c.Limits == nil {
			c.Limits = v1.ResourceList{}
		}
		c.Limits[v1.ResourceEphemeralStorage] = resource.MustParse("300Mi")
	}
	return p
}

// randomGrace returns a grace period, mostly a short one.
func randomGrace(random *rand.Rand) *int64 {
	if random.IntN(3) == 0 {
		return new(int64(20))
	}
	return new(int64(random.IntN(6)))
}

// randomUsage returns a script: steady, growing memory, crashes, ends, ignored signals, and large layers.
func randomUsage(random *rand.Rand) string {
	mib := func(most int) int { return 10 * (1 + random.IntN(most/10)) }
	switch random.IntN(9) {
	case 0, 1:
		return fmt.Sprintf("run=forever memory=%dMi", mib(300))
	case 2, 3, 4:
		text := fmt.Sprintf("run=forever memory=%dMi", mib(100))
		for at, n := 0, random.IntN(4); n >= 0; n-- {
			at += 1 + random.IntN(20)
			text += fmt.Sprintf(" memory@%ds=%dMi", at, mib(600))
		}
		return text
	case 5:
		return fmt.Sprintf("run=%ds exit=1 memory=%dMi", 1+random.IntN(20), mib(200))
	case 6:
		return fmt.Sprintf("run=forever ignore-term memory=%dMi", mib(300))
	case 7:
		return fmt.Sprintf("run=forever start-delay=%ds disk=%dMi", random.IntN(4), mib(500))
	}
	return fmt.Sprintf("run=%ds exit=0 memory=%dMi", 1+random.IntN(30), mib(300))
}

// setSizes gives a new pod requests and limits of a class: BestEffort, Guaranteed, with resources of the pod, or other.
func setSizes(random *rand.Rand, p *v1.Pod, class int) {
	for c := range podspec.AllContainers(p) {
		switch {
		case class == 0:
		case class < 3:
			amounts := v1.ResourceList{v1.ResourceCPU: randomCPU(random), v1.ResourceMemory: randomMemory(random)}
			c.Resources = v1.ResourceRequirements{Requests: amounts, Limits: amounts.DeepCopy()}
		default:
			c.Resources = v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: randomCPU(random)}, Limits: v1.ResourceList{}}
			if random.IntN(2) == 0 {
				c.Resources.Limits[v1.ResourceCPU] = resource.Quantity{}
			}
			if random.IntN(4) > 0 {
				c.Resources.Requests[v1.ResourceMemory], c.Resources.Limits[v1.ResourceMemory] = resource.Quantity{}, resource.Quantity{}
			}
		}
	}
	if class == 9 {
		p.Spec.Resources = &v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.Quantity{}, v1.ResourceMemory: resource.Quantity{}},
			Limits:   v1.ResourceList{v1.ResourceCPU: resource.Quantity{}, v1.ResourceMemory: resource.Quantity{}},
		}
	}
	if class >= 3 {
		changeSizes(random, p)
	}
}

// changeSizes changes the amounts of a pod, and keeps which of them are set, mostly: removed and added limits and a
// changed QoS class must be refused.
func changeSizes(random *rand.Rand, p *v1.Pod) {
	guaranteed := podstatus.QOSClass(p) == v1.PodQOSGuaranteed
	for c := range podspec.AllContainers(p) {
		if random.IntN(3) == 0 && p.Generation > 1 {
			continue
		}
		r := &c.Resources
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			amount := randomCPU(random)
			if name == v1.ResourceMemory {
				amount = randomMemory(random)
			}
			more := amount.DeepCopy()
			if !guaranteed {
				more.Add(amount)
			}
			if _, ok := r.Requests[name]; ok {
				r.Requests[name] = amount
			}
			if _, ok := r.Limits[name]; ok {
				r.Limits[name] = more
			}
		}
	}
	if c := &p.Spec.Containers[0].Resources; p.Generation > 1 && random.IntN(15) == 0 && c.Limits != nil {
		if _, ok := c.Limits[v1.ResourceMemory]; ok {
			delete(c.Limits, v1.ResourceMemory)
		} else {
			c.Limits[v1.ResourceMemory] = resource.MustParse("2Gi")
		}
	}
	if r := p.Spec.Resources; r != nil {
		own := p.DeepCopy()
		own.Spec.Resources = nil
		requests := podspec.Requests(own)
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			request := requests[name].DeepCopy()
			limit := request.DeepCopy()
			for c := range podspec.AllContainers(own) { // No container may have a higher limit than its pod.
				if l := c.Resources.Limits[name]; l.Cmp(limit) > 0 {
					limit = l.DeepCopy()
				}
			}
			extra := randomCPU(random)
			if name == v1.ResourceMemory {
				extra = randomMemory(random)
			}
			if random.IntN(2) == 0 {
				limit.Add(extra)
			}
			r.Requests[name], r.Limits[name] = request, limit
		}
	}
}

func randomCPU(random *rand.Rand) resource.Quantity {
	milli := int64(100 * (1 + random.IntN(12)))
	if random.IntN(20) == 0 {
		milli = 5000 // It can never fit.
	}
	return *resource.NewMilliQuantity(milli, resource.DecimalSI)
}

func randomMemory(random *rand.Rand) resource.Quantity {
	return *resource.NewQuantity(int64(50*(1+random.IntN(10)))*mebi, resource.BinarySI)
}

// describeSizes returns the resources of a pod and the scripts of its containers.
func describeSizes(p *v1.Pod) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s generation %d", p.Name, p.Generation)
	describe := func(r *v1.ResourceRequirements) {
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			request, limit := r.Requests[name], r.Limits[name]
			fmt.Fprintf(&text, " %s/%s", request.String(), limit.String())
		}
	}
	for c := range podspec.AllContainers(p) {
		fmt.Fprintf(&text, "; %s", c.Name)
		describe(&c.Resources)
		if p.Generation == 1 {
			fmt.Fprintf(&text, " (%s)", p.Annotations[memory.AnnotationPrefix+c.Name])
		}
	}
	if p.Spec.Resources != nil {
		text.WriteString("; pod")
		describe(p.Spec.Resources)
	}
	return text.String()
}

// checkFinal checks every pod when nothing changes any longer.
func (h *resourceHistory) checkFinal() {
	pods := h.b.Node().Pods()
	for _, p := range pods {
		if e := h.evicted[p.UID]; e != nil {
			assert.Equal(h.t, "Failed Evicted", string(p.Status.Phase)+" "+p.Status.Reason, "the evicted pod %s", p.Name)
		}
		if p.Status.Phase != v1.PodRunning {
			continue
		}
		h.checkFinalPod(p, pods)
	}
	for _, p := range h.desired {
		assert.NotNil(h.t, h.b.Pod(p.Name), "the desired pod %s", p.Name)
	}
}

// checkFinalPod checks that a running pod has its allocated resources, and that its resize is pending only if it does
// not fit.
func (h *resourceHistory) checkFinalPod(p *v1.Pod, all []*v1.Pod) {
	inProgress, pending := podstatus.FindCondition(p.Status.Conditions, v1.PodResizeInProgress), podstatus.FindCondition(p.Status.Conditions, v1.PodResizePending)
	isRefused := inProgress != nil && strings.Contains(inProgress.Message, "cannot decrease memory limits")
	pod := podresources.ValuesForPod(p, podresources.Policy{})
	wantPod := limits{finiteOrMax(pod.CPUQuota), finiteOrMax(pod.Memory)}
	inUse, err := h.memoryInUse(p.UID)
	assert.NoError(h.t, err)
	isInUse := inUse > wantPod.memory || h.machine.mode == "v2" && inUse == wantPod.memory // The limit of the pod is refused.
	assert.True(h.t, inProgress == nil || isRefused || isInUse, "pod %s: %v", p.Name, inProgress)
	want := valuesOfPod(p)
	if !isRefused {
		for _, r := range h.snapshot {
			for _, c := range r.Containers {
				if r.UID == p.UID && h.isRunning(c.ID) {
					assert.Equal(h.t, want[c.Name], h.valuesOf(c.ID), "container %s of %s", c.Name, p.Name)
				}
			}
		}
		have := h.machine.podLimits(p.UID)
		if isInUse {
			wantPod.memory = max(wantPod.memory, have.memory)
		}
		assert.Equal(h.t, wantPod, have, "the cgroup of %s", p.Name)
	}
	desired := h.desired[p.Name]
	if desired == nil {
		return
	}
	desired = desired.DeepCopy()
	validation.Default(desired) // A missing request is the limit.
	differs := fmt.Sprint(resourcesOf(desired)) != fmt.Sprint(resourcesOf(p))
	assert.Equal(h.t, differs, pending != nil, "the pending resize of %s: %v; desired %s, allocated %s", p.Name, pending, describeSizes(desired), describeSizes(p))
	if pending != nil && pending.Reason == v1.PodReasonDeferred {
		assert.False(h.t, h.fitsBeside(desired, p, all), "the resize of %s fits: %v", p.Name, pending.Message)
	}
}

// resourcesOf returns the resources of a pod and of its containers as text.
func resourcesOf(p *v1.Pod) (list []string) {
	text := func(r *v1.ResourceRequirements) string {
		cpu, memory, cpuLimit, memoryLimit := r.Requests.Cpu(), r.Requests.Memory(), r.Limits.Cpu(), r.Limits.Memory()
		return fmt.Sprint(cpu.MilliValue(), memory.Value(), cpuLimit.MilliValue(), memoryLimit.Value())
	}
	for c := range podspec.AllContainers(p) {
		list = append(list, text(&c.Resources))
	}
	if p.Spec.Resources != nil {
		list = append(list, text(p.Spec.Resources))
	}
	return list
}

// fitsBeside reports whether a pod with the desired resources fits beside the other pods.
func (h *resourceHistory) fitsBeside(desired, allocated *v1.Pod, all []*v1.Pod) bool {
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		amount := func(p *v1.Pod) int64 {
			q := podspec.Requests(p)[name]
			if name == v1.ResourceCPU {
				return q.MilliValue()
			}
			return q.Value()
		}
		sum := amount(desired)
		for _, other := range all {
			if other.UID != desired.UID && !isRejectedOrWaiting(other) {
				sum += amount(other)
			}
		}
		if amount(desired) > amount(allocated) && sum > h.allocatable(name) {
			return false
		}
	}
	return true
}

// finiteOrMax returns the number of a value, or math.MaxInt64 if it is unlimited.
func finiteOrMax(v podresources.Value) int64 {
	if n, ok := v.Number(); ok {
		return n
	}
	return 1<<63 - 1
}

// isRunning reports whether a container runs.
func (h *resourceHistory) isRunning(id string) bool {
	for _, p := range h.b.Machine().Snapshot() {
		for _, c := range p.Containers {
			if c.ID == id {
				return c.State.String() == "running"
			}
		}
	}
	return false
}
