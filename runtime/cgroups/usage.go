package cgroups

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

// Usage is what a pod uses. A value is unset if the host does not measure it.
type Usage struct {
	// CPUNanoseconds is the CPU time since the cgroup was created.
	CPUNanoseconds podresources.Value
	// Memory is the used memory in bytes, including the page cache.
	Memory podresources.Value
	// MemoryWorkingSet is Memory without inactive files, which the kernel can reclaim at once. It is never below 0.
	MemoryWorkingSet podresources.Value
	// PIDs is the number of processes and threads.
	PIDs podresources.Value
	// PIDsRejected is how often a limit of PIDs made a fork fail in the pod. Old kernels and cgroup v1 count that in the
	// cgroup of a container, new ones in the cgroup with the limit.
	PIDsRejected podresources.Value
}

// AvailableMemory returns the bytes below a limit that the working set leaves free, never below 0. It is unset if the
// working set is unset or the limit is not a number.
func (u Usage) AvailableMemory(limit podresources.Value) podresources.Value {
	n, limited := limit.Number()
	used, measured := u.MemoryWorkingSet.Number()
	if !limited || !measured {
		return podresources.Value{}
	}
	return subtractSaturating(n, used)
}

// subtractSaturating returns a - b, or 0 if b is larger. In unsigned arithmetic a limit below the usage would
// become a huge number of free bytes.
func subtractSaturating(a, b int64) podresources.Value { return podresources.Finite(max(a-b, 0)) }

// ReadUsage reads the usage of a pod from its cgroup. The error is ErrNotFound if no hierarchy has the cgroup.
func (m *Manager) ReadUsage(uid types.UID) (Usage, error) {
	dir, err := m.findPodDir(uid)
	if err != nil {
		return Usage{}, err
	}
	return m.readUsageOf(dir), nil
}

// ReadTotalUsage reads the memory of all pods of this agent together from the cgroup that contains them. The other values
// are unset, because they take many more reads and an evictor calls ReadTotalUsage in each pass. The error is
// ErrNotFound if no hierarchy has that cgroup, and ErrUnavailable if this host has no cgroups.
func (m *Manager) ReadTotalUsage() (Usage, error) {
	if m.config.Capabilities.State != Ready {
		return Usage{}, ErrUnavailable
	}
	dir := m.config.Root.String()
	if found, err := m.existsInAnyHierarchy(dir); err != nil || !found {
		return Usage{}, cmp.Or(err, fmt.Errorf("%w: %s", ErrNotFound, dir))
	}
	var usage Usage
	m.addMemoryUsage(&usage, dir)
	return usage, nil
}

// readIfPresent returns the content of a file of a cgroup, or "" if the file cannot be read, so that the value stays
// unset.
func (m *Manager) readIfPresent(controller Controller, dir, nameOnV1, nameOnV2 string) string {
	name := m.config.Capabilities.filePath(controller, dir, nameOnV1, nameOnV2)
	if name == "" {
		return ""
	}
	text, err := m.config.Files.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// readUsageOf reads the usage of a cgroup.
func (m *Manager) readUsageOf(dir string) Usage {
	read := func(controller Controller, nameOnV1, nameOnV2 string) string {
		return m.readIfPresent(controller, dir, nameOnV1, nameOnV2)
	}
	usage := Usage{
		CPUNanoseconds: parseCount(read(CPUAccounting, "cpuacct.usage", "")),
		PIDs:           parseCount(read(PIDs, "pids.current", "pids.current")),
		PIDsRejected:   m.readPIDsRejected(dir),
	}
	if micros, ok := parseKey(read(CPU, "", "cpu.stat"), "usage_usec").Number(); ok {
		usage.CPUNanoseconds = podresources.Finite(multiplySaturating(micros, 1000))
	}
	m.addMemoryUsage(&usage, dir)
	return usage
}

// addMemoryUsage reads the memory of a cgroup and its working set.
func (m *Manager) addMemoryUsage(usage *Usage, dir string) {
	usage.Memory = parseCount(m.readIfPresent(Memory, dir, "memory.usage_in_bytes", "memory.current"))
	if used, ok := usage.Memory.Number(); ok {
		inactiveKey := "total_inactive_file"
		if m.config.Capabilities.Controllers[Memory].Version == V2 {
			inactiveKey = "inactive_file"
		}
		inactive, _ := parseKey(m.readIfPresent(Memory, dir, "memory.stat", "memory.stat"), inactiveKey).Number()
		usage.MemoryWorkingSet = subtractSaturating(used, inactive)
	}
}

// existsInAnyHierarchy reports whether a hierarchy has the cgroup.
func (m *Manager) existsInAnyHierarchy(dir string) (bool, error) {
	for _, mount := range m.config.Capabilities.sizedMounts() {
		if _, err := m.config.Files.ReadDir(path.Join(mount, dir)); err == nil {
			return true, nil
		} else if !isGone(err) {
			return false, err
		}
	}
	return false, nil
}

// ReadPodValues reads the values that the cgroup of a pod has. On cgroup v2 podresources.SharesFromWeight converts
// the weight to CPUShares. A value is unset if the host has no controller for it or the file cannot be read. The
// QOSClass is empty. The error is ErrNotFound if no hierarchy has the cgroup.
func (m *Manager) ReadPodValues(uid types.UID) (podresources.PodValues, error) {
	dir, err := m.findPodDir(uid)
	if err != nil {
		return podresources.PodValues{}, err
	}
	c, found := m.config.Capabilities, false
	read := func(controller Controller, nameOnV1, nameOnV2 string) string {
		name := c.filePath(controller, dir, nameOnV1, nameOnV2)
		if name == "" {
			return ""
		}
		text, err := m.config.Files.ReadFile(name)
		found = found || err == nil
		return string(text)
	}
	values := podresources.PodValues{
		CPUShares: parseValue(read(CPU, "cpu.shares", "cpu.weight")),
		CPUQuota:  parseValue(read(CPU, "cpu.cfs_quota_us", "")),
		CPUPeriod: parseValue(read(CPU, "cpu.cfs_period_us", "")),
		Memory:    parseValue(read(Memory, "memory.limit_in_bytes", "memory.max")),
		PIDs:      parseValue(read(PIDs, "pids.max", "pids.max")),
	}
	if c.Controllers[CPU].Version == V2 {
		if weight, ok := values.CPUShares.Number(); ok {
			values.CPUShares = podresources.Finite(podresources.SharesFromWeight(weight))
		}
		b := parseBandwidth(read(CPU, "", "cpu.max"))
		values.CPUQuota, values.CPUPeriod = b.quota, b.period
	}
	if !found {
		return podresources.PodValues{}, fmt.Errorf("%w: pod %s", ErrNotFound, uid)
	}
	return values, nil
}

// readPIDsRejected returns the failed forks that the cgroup of a pod has counted, or the sum of those that the
// cgroups directly in it have counted, if that is larger.
func (m *Manager) readPIDsRejected(dir string) podresources.Value {
	events := m.config.Capabilities.filePath(PIDs, dir, "pids.events", "pids.events")
	if events == "" {
		return podresources.Value{}
	}
	read := func(name string) podresources.Value {
		text, _ := m.config.Files.ReadFile(name) // A missing file leaves the value unset.
		return parseKey(string(text), "max")
	}
	inPod := read(events)
	names, _ := m.config.Files.ReadDir(path.Dir(events))
	inContainers := int64(0)
	for _, name := range names {
		n, _ := read(path.Join(path.Dir(events), name, path.Base(events))).Number()
		inContainers += n
	}
	if sum := podresources.Finite(inContainers); sum.Exceeds(inPod) {
		return sum
	}
	return inPod
}

// findPodDir returns the directory of a pod's cgroup. That is the directory of the last Ensure, or else the
// directory in the first QoS class that has one. It returns ErrNotFound if no class has one, and ErrUnavailable
// if this node has no cgroups.
func (m *Manager) findPodDir(uid types.UID) (string, error) {
	if _, err := m.config.Root.PodDir("", uid); err != nil {
		return "", err
	}
	if m.config.Capabilities.State != Ready {
		return "", ErrUnavailable
	}
	if last, ok := m.lastEnsured(uid); ok {
		return m.config.Root.PodDir(last.class, uid)
	}
	for _, dir := range m.podDirs(uid) {
		if found, err := m.existsInAnyHierarchy(dir); err != nil || found {
			return dir, err
		}
	}
	return "", fmt.Errorf("%w: pod %s", ErrNotFound, uid)
}

// parseCount parses a file with one count. A count that an int64 cannot hold is cut. Any other text is unset.
func parseCount(text string) podresources.Value {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return podresources.Value{}
	}
	return podresources.Finite(int64(min(n, math.MaxInt64)))
}

// parseKey returns the count of a key in a file with one key and count per line. It is unset if the file does
// not have the key.
func parseKey(text, key string) podresources.Value {
	for line := range strings.Lines(text) {
		if name, count, _ := strings.Cut(line, " "); name == key {
			return parseCount(count)
		}
	}
	return podresources.Value{}
}

// multiplySaturating returns a times b for numbers of at least 0, or math.MaxInt64 if it does not fit.
func multiplySaturating(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
