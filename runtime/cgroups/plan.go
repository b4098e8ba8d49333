package cgroups

import (
	"path"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

// Group is a cgroup with wanted values.
type Group struct {
	Dir    string // below the mount point of each hierarchy, for example "/podkeel-a/pod1234"
	Values Values
}

// Snapshot is the part of the cgroup hierarchies that Plan needs, by path.
type Snapshot struct {
	Dirs  map[string]bool   // the directories that exist
	Files map[string]string // the content of the files that exist
}

// Write is one change of the cgroup hierarchies: a new directory, or a write to a file.
type Write struct {
	Path    string
	Content string
	Mkdir   bool // Path is a directory that is created
}

// String returns the write in one line.
func (w Write) String() string {
	if w.Mkdir {
		return "mkdir " + w.Path
	}
	return "write " + w.Path + " " + w.Content
}

// Plan returns the writes that change the cgroups in have into the wanted ones, in order. Parents stand before their
// children in want. First all directories are created. Then values are raised, parents first. Then values are lowered,
// children first. If want keeps the rules of the kernel (no child above its parent), each state between two writes
// keeps them. Plan writes no value that is unset and none that the cgroup has. It changes no argument.
func Plan(c Capabilities, want []Group, have Snapshot) []Write {
	p := planner{c: c, have: have}
	if c.State != Ready {
		return nil
	}
	p.enableControllers("/")
	for i, group := range want {
		p.planMkdirInEachHierarchy(group.Dir)
		if hasChild(want[i+1:], group.Dir) {
			p.enableControllers(group.Dir)
		}
	}
	for _, group := range want {
		p.addChanges(group)
		p.writes = append(p.writes, p.raises...)
		p.raises = nil
	}
	for _, lowers := range slices.Backward(p.lowers) {
		p.writes = append(p.writes, lowers...)
	}
	return p.writes
}

// hasChild reports whether one of the groups is below dir.
func hasChild(groups []Group, dir string) bool {
	return slices.ContainsFunc(groups, func(g Group) bool { return strings.HasPrefix(g.Dir, strings.TrimSuffix(dir, "/")+"/") })
}

// planner collects the writes of one Plan.
type planner struct {
	c      Capabilities
	have   Snapshot
	writes []Write
	raises []Write   // of the current group
	lowers [][]Write // of each group so far
}

// planMkdirInEachHierarchy adds the creation of the cgroup's directory to the plan, in each mounted hierarchy
// that does not have it. It does not add its parent directories.
func (p *planner) planMkdirInEachHierarchy(dir string) {
	for _, mount := range p.c.sizedMounts() {
		if name := path.Join(mount, dir); !p.have.Dirs[name] {
			p.writes = append(p.writes, Write{Path: name, Mkdir: true})
		}
	}
}

// enableControllers adds one write that enables the missing controllers of cgroup v2 for the children of a cgroup.
func (p *planner) enableControllers(dir string) {
	var missing []string
	name := path.Join(p.c.Unified, dir, subtreeControl)
	enabled := strings.Fields(p.have.Files[name])
	for _, controller := range enabledControllers {
		text := controllerNames[controller].v2
		if p.c.Controllers[controller].Version == V2 && !slices.Contains(enabled, text) {
			missing = append(missing, "+"+text)
		}
	}
	if len(missing) > 0 {
		p.writes = append(p.writes, Write{Path: name, Content: strings.Join(missing, " ")})
	}
}

// addChanges adds the writes to the files of one cgroup to raises and lowers.
func (p *planner) addChanges(group Group) {
	p.lowers = append(p.lowers, nil)
	v := group.Values
	p.changeShares(group.Dir, v.CPUShares)
	p.planBandwidthChange(group.Dir, bandwidth{v.CPUQuota, v.CPUPeriod})
	p.changeMemory(group.Dir, v)
	p.addChange(p.fileValue(PIDs, group.Dir, "pids.max", "pids.max", podresources.Unlimited()), v.PIDs, "max")
}

// addRaise adds a write that is made before the writes to the children.
func (p *planner) addRaise(name, content string) {
	p.raises = append(p.raises, Write{Path: name, Content: content})
}

// addLower adds a write that is made after the writes to the children.
func (p *planner) addLower(name, content string) {
	last := &p.lowers[len(p.lowers)-1]
	*last = append(*last, Write{Path: name, Content: content})
}

// fileWithValue is a file and the value in it.
type fileWithValue struct {
	path  string
	value podresources.Value
}

// fileValue returns a file of a cgroup and its value. In a cgroup that is still to be created the value is initial.
// The path is "" if the kernel does not have the file.
func (p *planner) fileValue(controller Controller, dir, nameOnV1, nameOnV2 string, initial podresources.Value) fileWithValue {
	name := p.c.filePath(controller, dir, nameOnV1, nameOnV2)
	text, ok := p.have.Files[name]
	switch {
	case name == "":
		return fileWithValue{}
	case !p.have.Dirs[path.Dir(name)]:
		return fileWithValue{name, initial}
	case !ok:
		return fileWithValue{}
	}
	return fileWithValue{name, parseValue(text)}
}

// addChange adds the write of a value to a file if the value is set and differs. A larger value is a raise.
func (p *planner) addChange(have fileWithValue, want podresources.Value, unlimited string) {
	if p.isRaise(have, want) {
		p.addRaise(have.path, formatValue(want, unlimited))
	}
	if p.isLower(have, want) {
		p.addLower(have.path, formatValue(want, unlimited))
	}
}

// isRaise reports whether a value is to be written that is larger than the one in the file, or replaces a text
// that is no number.
func (p *planner) isRaise(have fileWithValue, want podresources.Value) bool {
	return have.path != "" && want.IsSet() && (want.Exceeds(have.value) || !have.value.IsSet())
}

// isLower reports whether a value is to be written that is smaller than the one in the file.
func (p *planner) isLower(have fileWithValue, want podresources.Value) bool {
	return have.path != "" && want.IsSet() && have.value.Exceeds(want)
}

// changeShares adds the write of CPU shares or of the CPU weight. Their order does not matter.
func (p *planner) changeShares(dir string, shares podresources.Value) {
	n, ok := shares.Number()
	if !ok {
		return
	}
	initial, want := int64(1024), min(max(n, podresources.MinShares), podresources.MaxShares)
	if p.c.Controllers[CPU].Version == V2 {
		initial, want = 100, podresources.WeightFromShares(n)
	}
	have := p.fileValue(CPU, dir, "cpu.shares", "cpu.weight", podresources.Finite(initial))
	if have.path != "" && have.value != podresources.Finite(want) {
		p.addRaise(have.path, formatValue(podresources.Finite(want), ""))
	}
}

// initialPeriod is the period of a new cgroup.
var initialPeriod = podresources.Finite(podresources.DefaultCPUPeriod.Microseconds())

// planBandwidthChange adds the writes of the CPU quota and its period to the plan. It adds nothing for values
// that are already equal, or without a wanted quota. On cgroup v1, if the period changes too, the plan removes
// the quota first and sets the new one last.
func (p *planner) planBandwidthChange(dir string, want bandwidth) {
	if !want.quota.IsSet() {
		return
	}
	if p.c.Controllers[CPU].Version == V2 {
		p.changeBandwidthOnV2(dir, want)
		return
	}
	quota := p.fileValue(CPU, dir, "cpu.cfs_quota_us", "", podresources.Unlimited())
	period := p.fileValue(CPU, dir, "cpu.cfs_period_us", "", initialPeriod)
	if !want.period.IsSet() || want.period == period.value {
		p.addChange(quota, want.quota, "-1")
		return
	}
	// Neither order of the two files is always valid: from 100 of 100 ms to 10 of 10 ms, one passes 10 of 100 ms, which
	// may be less than a child has, and the other 100 of 10 ms, which may be more than the parent has. A cgroup without
	// a quota has the quota of its parent, so the way through no quota is valid.
	if _, limited := quota.value.Number(); limited && quota.path != "" {
		p.addRaise(quota.path, "-1")
	}
	if period.path != "" {
		p.addRaise(period.path, formatValue(want.period, ""))
	}
	if _, limited := want.quota.Number(); limited && quota.path != "" {
		p.addLower(quota.path, formatValue(want.quota, ""))
	}
}

// changeBandwidthOnV2 adds the write of cpu.max, which has the quota and the period.
func (p *planner) changeBandwidthOnV2(dir string, want bandwidth) {
	name := p.c.filePath(CPU, dir, "", "cpu.max")
	have := bandwidth{podresources.Unlimited(), initialPeriod}
	if p.have.Dirs[path.Dir(name)] {
		text, ok := p.have.Files[name]
		if !ok {
			return
		}
		have = parseBandwidth(text)
	}
	if !want.period.IsSet() {
		want.period = have.period
	}
	if want == have {
		return
	}
	content := formatValue(want.quota, "max") + " " + formatValue(want.period, "")
	if have.exceedsLimit(want) {
		p.addLower(name, content)
	} else {
		p.addRaise(name, content)
	}
}

// changeMemory adds the writes of the limits of memory and swap.
func (p *planner) changeMemory(dir string, v Values) {
	limit := roundToPages(v.Memory, p.c.PageSize)
	if p.c.Controllers[Memory].Version == V2 {
		p.changeMemoryOnV2(dir, limit, v)
		return
	}
	memory := p.fileValue(Memory, dir, "memory.limit_in_bytes", "", podresources.Unlimited())
	swap := fileWithValue{}
	if p.c.Swap {
		swap = p.fileValue(Memory, dir, "memory.memsw.limit_in_bytes", "", podresources.Unlimited())
	}
	total := roundToPages(v.MemorySwap, p.c.PageSize)
	if !total.IsSet() && limit.Exceeds(swap.value) {
		total = limit // The kernel refuses more memory than memory and swap together.
	}
	if p.isRaise(swap, total) {
		p.addRaise(swap.path, formatValue(total, "-1"))
	}
	p.addChange(memory, limit, "-1")
	if p.isLower(swap, total) {
		p.addLower(swap.path, formatValue(total, "-1"))
	}
}

// changeMemoryOnV2 adds the writes of memory.max, memory.high, memory.swap.max and memory.oom.group. If the limit
// decreases, it writes memory.high before memory.max. The kernel then reclaims memory before it kills a process.
// If the limit increases, it writes memory.max first.
func (p *planner) changeMemoryOnV2(dir string, limit podresources.Value, v Values) {
	unlimited := podresources.Unlimited()
	hard := p.fileValue(Memory, dir, "", "memory.max", unlimited)
	soft := p.fileValue(Memory, dir, "", "memory.high", unlimited)
	high := roundToPages(v.MemoryHigh, p.c.PageSize)
	if p.isRaise(hard, limit) {
		p.addRaise(hard.path, formatValue(limit, "max"))
	}
	p.addChange(soft, high, "max")
	if p.isLower(hard, limit) {
		p.addLower(hard.path, formatValue(limit, "max"))
	}
	if p.c.Swap {
		swap := swapOnV2(limit, roundToPages(v.MemorySwap, p.c.PageSize))
		p.addChange(p.fileValue(Memory, dir, "", "memory.swap.max", unlimited), swap, "max")
	}
	p.addChange(p.fileValue(Memory, dir, "", "memory.oom.group", podresources.Finite(0)), v.OOMGroup, "1")
}

// swapOnV2 returns the limit of swap alone from the limit of memory and the limit of both. It is unset if it
// cannot be computed.
func swapOnV2(memory, total podresources.Value) podresources.Value {
	if !total.IsSet() || total.IsUnlimited() {
		return total
	}
	bytes, ok := memory.Number()
	if !ok {
		return podresources.Value{}
	}
	both, _ := total.Number()
	return podresources.Finite(both - bytes)
}
