package cgroupstest

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	maxQuota      = 1<<44 - 1 // the largest CPU quota of the kernel, in microseconds
	unlimitedText = "9223372036854771712"
)

// filesOnV1 are the files of a new cgroup in the hierarchy of a controller.
var filesOnV1 = map[string]map[string]string{
	"cpu":     {"cpu.shares": "1024", "cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"},
	"cpuacct": {"cpuacct.usage": "0"},
	"memory": {
		"memory.limit_in_bytes": unlimitedText, "memory.memsw.limit_in_bytes": unlimitedText, "memory.usage_in_bytes": "0", "memory.failcnt": "0",
		"memory.stat": "cache 0\ninactive_file 0\ntotal_inactive_file 0", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0",
	},
	"pids": {"pids.max": "max", "pids.current": "0", "pids.events": "max 0"},
}

// filesOnV2 are the files of a controller in a new cgroup of v2.
var filesOnV2 = map[string]map[string]string{
	"cpu": {"cpu.weight": "100", "cpu.max": "max 100000"},
	"memory": {
		"memory.max": "max", "memory.high": "max", "memory.swap.max": "max", "memory.oom.group": "0", "memory.current": "0",
		"memory.stat": "anon 0\ninactive_file 0", "memory.events.local": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0",
		"memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0",
	},
	"pids": {"pids.max": "max", "pids.current": "0", "pids.events": "max 0"},
}

// addFiles creates the missing files of a cgroup. On cgroup v1 the controller of its hierarchy decides which files
// those are. On cgroup v2 every cgroup has the same basic files, and each controller that the parent enables adds
// more. It creates files for swap only if Config.Swap is set. A file that exists does not change.
func (d *Dir) addFiles(name string) {
	files := d.groups[name].files
	add := func(more map[string]string) {
		for file, content := range more {
			if _, ok := files[file]; !ok && (d.config.Swap || !strings.Contains(file, "memsw") && !strings.Contains(file, ".swap.")) {
				files[file] = content
			}
		}
	}
	if controller := d.mounts[d.nearestMountAbove(name)]; controller != "" {
		add(filesOnV1[controller])
		return
	}
	enabled := d.groups[path.Dir(name)].files["cgroup.subtree_control"]
	files["cgroup.controllers"] = enabled
	add(map[string]string{"cgroup.subtree_control": "", "cgroup.kill": "", "cgroup.events": "populated 0", "cpu.stat": "usage_usec 0"})
	for controller := range strings.FieldsSeq(enabled) {
		add(filesOnV2[controller])
	}
}

// WriteFile writes to a file of a cgroup, as the kernel does.
func (d *Dir) WriteFile(name string, content []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := strings.TrimSpace(string(content))
	if err := d.recordCallAndReturnInjectedError("WriteFile", name, text); err != nil {
		return err
	}
	err := d.writeFile(path.Dir(name), path.Base(name), text)
	if err != nil {
		return &fs.PathError{Op: "WriteFile", Path: name, Err: err}
	}
	return nil
}

// writeFile changes one file of a cgroup, or returns the error of the kernel.
func (d *Dir) writeFile(dir, file, text string) error {
	g := d.groups[dir]
	if g == nil {
		return fs.ErrNotExist
	}
	before, ok := g.files[file]
	if !ok {
		return fs.ErrNotExist
	}
	switch file {
	case "cgroup.subtree_control":
		return d.enableControllers(dir, text)
	case "cgroup.kill":
		d.killProcesses(dir)
		return nil
	case "cpu.cfs_quota_us", "cpu.cfs_period_us":
		return d.writeBandwidth(dir, file, text)
	}
	after, err := d.valueAfterWrite(dir, file, text)
	if err == nil {
		g.files[file] = after
		if file == "memory.limit_in_bytes" || file == "memory.memsw.limit_in_bytes" {
			if err = checkSwapLimitCoversMemory(g); err != nil {
				g.files[file] = before
			}
		}
	}
	return err
}

// valueAfterWrite returns the content that a file with one value has after a write. It returns EINVAL for an
// invalid value, EBUSY for a memory limit below the usage, and EACCES for a file that cannot be written.
func (d *Dir) valueAfterWrite(dir, file, text string) (string, error) {
	switch file {
	case "cpu.shares":
		n, err := parseRange(text, 0, math.MaxInt64)
		return strconv.FormatInt(min(max(n, 2), 262144), 10), err
	case "cpu.weight":
		n, err := parseRange(text, 1, 10000)
		return strconv.FormatInt(n, 10), err
	case "cpu.max":
		return bandwidthAfterWrite(text)
	case "memory.limit_in_bytes", "memory.memsw.limit_in_bytes":
		return d.bytesAfterWrite(dir, text, "-1", unlimitedText)
	case "memory.max", "memory.high", "memory.swap.max":
		return d.bytesAfterWrite(dir, text, "max", "max")
	case "memory.oom.group":
		n, err := parseRange(text, 0, 1)
		return strconv.FormatInt(n, 10), err
	case "pids.max":
		if text == "max" {
			return text, nil
		}
		n, err := parseRange(text, 0, 1<<22)
		return strconv.FormatInt(n, 10), err
	}
	return "", syscall.EACCES
}

// parseRange parses a number from least to most. It returns EINVAL for any other text.
func parseRange(text string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, syscall.EINVAL
	}
	return n, nil
}

// bytesAfterWrite returns the content of a memory limit after a write: the written number, rounded down to
// pages. unlimited is the text that removes the limit, and stored is the content of the file then. It returns
// EBUSY for a limit below the usage.
func (d *Dir) bytesAfterWrite(dir, text, unlimited, stored string) (string, error) {
	if text == unlimited {
		return stored, nil
	}
	n, err := parseRange(text, 0, math.MaxInt64)
	if err != nil {
		return "", err
	}
	used, _ := strconv.ParseInt(d.groups[dir].files["memory.usage_in_bytes"], 10, 64)
	if n < used {
		return "", syscall.EBUSY
	}
	return strconv.FormatInt(n-n%d.config.PageSize, 10), nil
}

// bandwidthAfterWrite returns the content of cpu.max after a write. The default period is 100000. It returns
// EINVAL for a quota or period out of range.
func bandwidthAfterWrite(text string) (string, error) {
	quota, period, ok := strings.Cut(text, " ")
	if !ok {
		period = "100000"
	}
	if _, err := parseRange(period, 1000, 1000000); err != nil {
		return "", err
	}
	if quota != "max" {
		if _, err := parseRange(quota, 1000, maxQuota); err != nil {
			return "", err
		}
	}
	return quota + " " + period, nil
}

// checkSwapLimitCoversMemory returns EINVAL if a cgroup of v1 has a memory limit above its limit of memory and
// swap together. It returns nil for any other cgroup.
func checkSwapLimitCoversMemory(g *group) error {
	total, ok := g.files["memory.memsw.limit_in_bytes"]
	if !ok {
		return nil
	}
	memory, _ := strconv.ParseInt(g.files["memory.limit_in_bytes"], 10, 64)
	both, _ := strconv.ParseInt(total, 10, 64)
	if memory > both {
		return syscall.EINVAL
	}
	return nil
}

// writeBandwidth writes the quota or the period of v1, if the rule between parents and children is kept.
func (d *Dir) writeBandwidth(dir, file, text string) error {
	least, most := int64(1000), int64(1000000)
	if file == "cpu.cfs_quota_us" {
		most = maxQuota
	}
	if file != "cpu.cfs_quota_us" || text != "-1" {
		if _, err := parseRange(text, least, most); err != nil {
			return err
		}
	}
	files := d.groups[dir].files
	before := files[file]
	files[file] = text
	if d.checkQuotasBelowWithinLimit(d.nearestMountAbove(dir), math.Inf(1)) != nil {
		files[file] = before
		return syscall.EINVAL
	}
	return nil
}

// checkQuotasBelowWithinLimit returns an error if a cgroup below dir may use more CPU than limit or than its
// parent. A cgroup without a quota may use as much as its parent.
func (d *Dir) checkQuotasBelowWithinLimit(dir string, limit float64) error {
	for _, name := range d.childrenOf(dir) {
		child := path.Join(dir, name)
		ratio := quotaOf(d.groups[child].files)
		switch {
		case math.IsInf(ratio, 1):
			ratio = limit
		case ratio > limit:
			return fmt.Errorf("%s may use %v CPUs, its parent %v", child, ratio, limit)
		}
		if err := d.checkQuotasBelowWithinLimit(child, ratio); err != nil {
			return err
		}
	}
	return nil
}

// quotaOf returns the number of CPUs that a cgroup may use, or infinity.
func quotaOf(files map[string]string) float64 {
	quota, period := files["cpu.cfs_quota_us"], files["cpu.cfs_period_us"]
	if text, ok := files["cpu.max"]; ok {
		quota, period, _ = strings.Cut(text, " ")
	}
	n, err := strconv.ParseFloat(quota, 64)
	m, periodErr := strconv.ParseFloat(period, 64)
	if err != nil || periodErr != nil || n < 0 {
		return math.Inf(1)
	}
	return n / m
}

// memoryOf returns the memory limit of a cgroup, or infinity.
func memoryOf(files map[string]string) float64 {
	text, ok := files["memory.max"]
	if !ok {
		text = files["memory.limit_in_bytes"]
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || text == unlimitedText {
		return math.Inf(1)
	}
	return n
}

// checkMemoryBelowWithinLimit returns an error if a cgroup below dir has a larger memory limit than limit or
// its parent. A cgroup without a limit may use as much as its parent.
func (d *Dir) checkMemoryBelowWithinLimit(dir string, limit float64) error {
	for _, name := range d.childrenOf(dir) {
		child := path.Join(dir, name)
		bytes := memoryOf(d.groups[child].files)
		switch {
		case math.IsInf(bytes, 1):
			bytes = limit
		case bytes > limit:
			return fmt.Errorf("%s may use %v bytes, its parent %v", child, bytes, limit)
		}
		if err := d.checkMemoryBelowWithinLimit(child, bytes); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error that names a cgroup with a larger CPU quota or memory limit than its parent.
func (d *Dir) Check() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for mount := range d.mounts {
		if err := d.checkQuotasBelowWithinLimit(mount, math.Inf(1)); err != nil {
			return err
		}
		if err := d.checkMemoryBelowWithinLimit(mount, math.Inf(1)); err != nil {
			return err
		}
	}
	return nil
}

// enableControllers enables controllers for the children of a cgroup of v2.
func (d *Dir) enableControllers(dir, text string) error {
	g := d.groups[dir]
	_, isMount := d.mounts[dir]
	if len(g.processes) > 0 && !isMount {
		return syscall.EBUSY
	}
	enabled := strings.Fields(g.files["cgroup.subtree_control"])
	for word := range strings.FieldsSeq(text) {
		controller, ok := strings.CutPrefix(word, "+")
		if !ok {
			return syscall.EINVAL
		}
		if !slices.Contains(strings.Fields(g.files["cgroup.controllers"]), controller) {
			return fs.ErrNotExist
		}
		if !slices.Contains(enabled, controller) {
			enabled = append(enabled, controller)
		}
	}
	slices.Sort(enabled)
	g.files["cgroup.subtree_control"] = strings.Join(enabled, " ")
	for _, name := range d.childrenOf(dir) {
		d.addFiles(path.Join(dir, name))
	}
	return nil
}

// killProcesses ends the processes in a cgroup and below, in every hierarchy.
func (d *Dir) killProcesses(dir string) {
	below := strings.TrimPrefix(dir, d.nearestMountAbove(dir))
	for name, g := range d.groups {
		if rest := strings.TrimPrefix(name, d.nearestMountAbove(name)); rest == below || strings.HasPrefix(rest, below+"/") {
			g.processes = nil
		}
	}
}
