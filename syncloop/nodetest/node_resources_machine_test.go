package nodetest_test

import (
	"context"
	"errors"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
)

// limits are the limits of a cgroup or a container. No limit is math.MaxInt64.
type limits struct{ quota, memory int64 }

// isWithin reports whether no limit exceeds the limit of other.
func (l limits) isWithin(other limits) bool {
	return l.quota <= other.quota && l.memory <= other.memory
}

// withinPod reports whether no limit is above the limit of the pod. A container without a limit has the limit of its
// pod: the kernel accepts it, and it may run so until it is updated.
func (l limits) withinPod(pod limits) bool {
	own := func(limit, most int64) int64 {
		if limit == math.MaxInt64 {
			return most
		}
		return limit
	}
	return limits{own(l.quota, pod.quota), own(l.memory, pod.memory)}.isWithin(pod)
}

// values are the kernel values of a container.
type values struct {
	shares int64
	limits
}

// containerValues returns the values that a runtime has given to a container.
func containerValues(r runtime.Resources) values {
	v := values{int64(r.CPUShares), limits{math.MaxInt64, math.MaxInt64}}
	if r.CPUQuota > 0 {
		v.quota = r.CPUQuota.Microseconds()
	}
	if r.MemoryBytes > 0 {
		v.memory = r.MemoryBytes
	}
	return v
}

// resourceMachine has the cgroups of a simulated machine. Like a runtime, it puts the containers of a pod into the
// cgroup of the pod. It survives crashes of the node.
type resourceMachine struct {
	history  *resourceHistory
	mode     string // of the fake cgroup file system
	dir      *cgroupstest.Dir
	manager  *cgroups.Manager
	podDirs  map[types.UID]string
	children map[string]int64 // by path: the quotas of containers with a cgroup, on cgroup v1
}

func newResourceMachine(h *resourceHistory, mode string) *resourceMachine {
	dir := cgroupstest.New(cgroupstest.Config{Mode: mode})
	root, err := cgroups.RootForOwner("test")
	require.NoError(h.t, err)
	manager, err := cgroups.New(cgroups.Config{Root: root, Files: dir, Capabilities: cgroups.Probe(dir, root)})
	require.NoError(h.t, err)
	return &resourceMachine{h, mode, dir, manager, map[types.UID]string{}, map[string]int64{}}
}

// podLimits returns the limits of the cgroup of a pod. They are unlimited if the pod has no cgroup.
func (m *resourceMachine) podLimits(uid types.UID) limits {
	none := limits{math.MaxInt64, math.MaxInt64}
	dir := m.podDirs[uid]
	if dir == "" {
		return none
	}
	if m.mode == "v2" {
		quota, _, _ := strings.Cut(cgroupFile(m.dir, dir+"/cpu.max"), " ")
		return limits{parseLimit(quota), parseLimit(cgroupFile(m.dir, dir+"/memory.max"))}
	}
	return limits{parseLimit(cgroupFile(m.dir, "cpu"+dir+"/cpu.cfs_quota_us")), parseLimit(cgroupFile(m.dir, "memory"+dir+"/memory.limit_in_bytes"))}
}

// parseLimit parses the content of a cgroup file. A missing file, "max", a negative number and the largest number of
// the kernel are no limit.
func parseLimit(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>1 {
		return math.MaxInt64
	}
	return n
}

// updateContainerCgroups updates the cgroups of the containers with updateQuotas. It also sets the memory that each pod
// uses. On cgroup v1 the kernel compares it with a new limit. A pod uses at most its limit, because the kernel reclaims
// memory or kills a process at the limit.
func (m *resourceMachine) updateContainerCgroups() {
	m.updateQuotas()
	for _, p := range m.history.snapshot {
		if dir := m.podDirs[p.UID]; dir != "" {
			inUse, err := m.history.memoryInUse(p.UID)
			if errors.Is(err, executor.ErrCrashed) { // The process that calls Ensure crashes during the call to the machine.
				return
			}
			require.NoError(m.history.t, err)
			inUse = min(inUse, m.podLimits(p.UID).memory)
			m.dir.SetFile(m.usageFile(dir), strconv.FormatInt(inUse, 10))
		}
	}
}

// usageFile returns the file with the memory that a cgroup uses.
func (m *resourceMachine) usageFile(dir string) string {
	if m.mode == "v2" {
		return "/sys/fs/cgroup" + dir + "/memory.current"
	}
	return "/sys/fs/cgroup/memory" + dir + "/memory.usage_in_bytes"
}

// updateQuotas creates the cgroups of running containers with their quotas and removes the cgroups of others, on
// cgroup v1, whose kernel then refuses a lower quota of the pod. It adds a fault if the kernel refuses one of a
// container.
func (m *resourceMachine) updateQuotas() {
	defer m.noteCalls()
	if m.mode == "v2" {
		return
	}
	now := map[string]int64{}
	for _, p := range m.history.snapshot {
		dir := m.podDirs[p.UID]
		if dir == "" {
			continue
		}
		for _, c := range p.Containers {
			if c.State != runtime.StateRunning {
				continue
			}
			name := path.Join("/sys/fs/cgroup/cpu", dir, c.ID)
			quota := int64(-1)
			if v := m.history.valuesOf(c.ID); v.quota != math.MaxInt64 {
				quota = v.quota
			}
			now[name] = quota
			if before, ok := m.children[name]; ok && before == quota {
				continue
			}
			_ = m.dir.Mkdir(name)
			if err := m.dir.WriteFile(name+"/cpu.cfs_quota_us", []byte(strconv.FormatInt(quota, 10))); err != nil {
				m.history.recordViolation("the kernel refuses the quota %d of container %s of %s, whose pod has %v: %v", quota, c.Name, p.Name, m.podLimits(p.UID), err)
			}
		}
	}
	for name := range m.children {
		if _, ok := now[name]; !ok {
			_ = m.dir.Remove(name)
		}
	}
	m.children = now
}

// noteCalls empties the list of calls, and notes the changes with the flag nodetest.details.
func (m *resourceMachine) noteCalls() {
	for _, call := range m.dir.Calls() {
		if *details && !strings.HasPrefix(call, "Read") {
			m.history.noteAction("  %s", call)
		}
	}
}

// recordChange makes the history check its invariants after the present step.
func (m *resourceMachine) recordChange() { m.history.changed = true }

// managerOfMachine wraps the manager of the cgroups of the machine.
type managerOfMachine struct {
	*cgroups.Manager
	machine *resourceMachine
}

// Ensure updates the cgroups of the containers first: in the present step a container may have exited, or the runtime
// may have updated it. It checks that the memory limit is not decreased below the memory in use, and on cgroup v2 not to
// it either. Cgroup v1 accepts a limit that equals the memory in use.
func (m managerOfMachine) Ensure(uid types.UID, values podresources.PodValues, generation int64) (dir string, err error) {
	machine := m.machine
	machine.history.snapshot = machine.history.b.Machine().Snapshot()
	machine.updateContainerCgroups()
	before := machine.podLimits(uid)
	dir, err = m.Manager.Ensure(uid, values, generation)
	if after := machine.podLimits(uid); after.memory < before.memory {
		text, _ := machine.dir.ReadFile(machine.usageFile(machine.podDirs[uid]))
		if used, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); used > after.memory || machine.mode == "v2" && used > 0 && used == after.memory {
			machine.history.recordViolation("the memory limit of pod %s is decreased to %d, and it uses %d (%s)", uid, after.memory, used, machine.mode)
		}
	}
	return dir, err
}

// runtimeWithCgroups wraps the runtime of one node.
type runtimeWithCgroups struct {
	runtime.Runtime
	machine *resourceMachine
}

// wrapRuntime returns the runtime of a node, with faults outside of the checks.
func (m *resourceMachine) wrapRuntime(inner runtime.Runtime, clk clock.Clock) runtime.Runtime {
	return m.history.faults.Wrap(runtimeWithCgroups{inner, m}, clk)
}

func (r runtimeWithCgroups) Features() runtime.Features {
	f := runtime.FeaturesOf(r.Runtime)
	f.Updater = updaterWithCgroups{f.Updater, r.machine}
	return f
}

// RunSandbox stores the cgroup of the pod, and checks that the pod was not evicted.
func (r runtimeWithCgroups) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	r.machine.podDirs[req.Pod.UID] = req.CgroupDir
	r.machine.history.checkMayStart(req.Pod.UID, "a sandbox")
	r.machine.recordChange()
	defer r.machine.recordChange()
	return r.Runtime.RunSandbox(ctx, req)
}

// CreateContainer checks the resources of the request.
func (r runtimeWithCgroups) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	r.machine.history.checkCreate(req)
	r.machine.recordChange()
	defer r.machine.recordChange()
	return r.Runtime.CreateContainer(ctx, req)
}

// StartContainer checks the limits of the container.
func (r runtimeWithCgroups) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	r.machine.history.checkStart(req.ContainerID)
	r.machine.recordChange()
	defer r.machine.recordChange()
	return r.Runtime.StartContainer(ctx, req)
}

// updaterWithCgroups checks each update before the runtime makes it.
type updaterWithCgroups struct {
	runtime.Updater
	machine *resourceMachine
}

func (u updaterWithCgroups) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	u.machine.history.checkUpdate(req)
	u.machine.recordChange()
	defer u.machine.recordChange()
	return u.Updater.UpdateContainer(ctx, req)
}

// allocatedValues returns the values that a container has if it gets the allocated resources.
func allocatedValues(requestedMilliCPU, limitedMilliCPU, limitedMemory int64) values {
	v := values{podresources.SharesFromMilliCPU(requestedMilliCPU), limits{math.MaxInt64, math.MaxInt64}}
	if quota := podresources.QuotaFromMilliCPU(limitedMilliCPU, podresources.DefaultCPUPeriod); quota > 0 {
		v.quota = quota.Microseconds()
	}
	if limitedMemory > 0 {
		v.memory = limitedMemory
	}
	return v
}
