package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	mountInfoPath  = "/proc/self/mountinfo"
	subtreeControl = "cgroup.subtree_control"
	probeName      = "probe" // no pod has this name, as the names of pods begin with "pod"
)

// Probe finds out what a host can do for the cgroups below root. It reads /proc/self/mountinfo. It enables the
// controllers cpu, cpuset, memory, pids and io of cgroup v2 for the children of the mount point, and creates and removes
// a cgroup in each hierarchy. A controller for which that fails counts as missing. If none of cpu, memory and pids is
// left, the State is not Ready. An agent calls Probe once and passes the result to New.
func Probe(files Files, root Root) Capabilities {
	text, err := files.ReadFile(mountInfoPath)
	if err != nil || root.name == "" {
		return Capabilities{Reason: fmt.Sprintf("cannot read %s: %v", mountInfoPath, err), PageSize: int64(os.Getpagesize())}
	}
	c := parseMountInfo(string(text))
	c.PageSize = int64(os.Getpagesize())
	p := prober{files: files, root: root, result: &c}
	p.addUnifiedControllers()
	for _, mount := range c.allMounts() {
		p.probeMountByCreatingCgroup(mount)
	}
	_, err = files.ReadFile("/proc/pressure/memory")
	c.PSI = err == nil
	_, err = files.ReadDir("/run/systemd/system")
	c.Systemd = err == nil
	c.State, c.Reason = p.decideState()
	return c
}

// parseMountInfo returns the hierarchies that /proc/self/mountinfo lists. If a hierarchy is mounted several
// times, the shortest mount point counts.
func parseMountInfo(text string) Capabilities {
	var c Capabilities
	for line := range strings.Lines(text) {
		mount, kind, options, ok := parseMount(line)
		switch {
		case ok && kind == "cgroup2":
			c.Unified = shorterPath(c.Unified, mount)
		case ok && kind == "cgroup":
			for _, option := range strings.Split(options, ",") {
				for controller := range numControllers {
					if h := &c.Controllers[controller]; option == controllerNames[controller].v1 {
						*h = Hierarchy{V1, shorterPath(h.Mount, mount)}
					}
				}
			}
		}
	}
	return c
}

// parseMount returns the mount point, the file system type and the options of the file system in one line of
// /proc/self/mountinfo. ok is false if the line has another format or the mount point is no absolute path.
func parseMount(line string) (mount, kind, options string, ok bool) {
	before, after, ok := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !ok || len(left) < 6 || len(right) < 3 {
		return "", "", "", false
	}
	return unescapeMount(left[4]), right[0], right[2], strings.HasPrefix(left[4], "/")
}

// unescapeMount replaces escapes such as \040 (a space) in a mount point.
func unescapeMount(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// shorterPath returns the shorter path. An empty path does not count.
func shorterPath(a, b string) string {
	if a == "" || len(b) < len(a) {
		return b
	}
	return a
}

// prober collects what Probe finds out.
type prober struct {
	files   Files
	root    Root
	result  *Capabilities
	mounted bool  // one of limitControllers is mounted
	refused error // the first error that made a mount unusable
}

// addUnifiedControllers adds the controllers of the unified hierarchy to the result, and enables them for the
// children of the mount point. A controller that cannot be enabled is not added. If the hierarchy has none of
// limitControllers, nothing is enabled or added.
func (p *prober) addUnifiedControllers() {
	c := p.result
	if c.Unified == "" {
		return
	}
	available, err := p.files.ReadFile(path.Join(c.Unified, "cgroup.controllers"))
	if err != nil {
		return
	}
	if !slices.ContainsFunc(limitControllers[:], func(controller Controller) bool {
		return slices.Contains(strings.Fields(string(available)), controllerNames[controller].v2)
	}) {
		return // The limits are on cgroup v1, so this agent leaves the unified hierarchy as it is.
	}
	control := path.Join(c.Unified, subtreeControl)
	enabled, _ := p.files.ReadFile(control) // Without the file no controller is enabled yet.
	for _, controller := range enabledControllers {
		name := controllerNames[controller].v2
		if !slices.Contains(strings.Fields(string(available)), name) || c.Controllers[controller].Version == V1 {
			continue
		}
		p.mounted = p.mounted || slices.Contains(limitControllers[:], controller)
		if !slices.Contains(strings.Fields(string(enabled)), name) {
			if err := p.files.WriteFile(control, []byte("+"+name)); err != nil {
				p.storeFirstRefusal(fmt.Errorf("cannot enable the controller %s in %s: %w", name, control, err))
				continue
			}
		}
		c.Controllers[controller] = Hierarchy{V2, c.Unified}
	}
}

// storeFirstRefusal records the first error.
func (p *prober) storeFirstRefusal(err error) {
	if p.refused == nil {
		p.refused = err
	}
}

// probeMountByCreatingCgroup creates and removes a cgroup below a mount point. If that fails, the controllers
// of the mount point are removed from the result. It also finds out which optional files a cgroup has.
func (p *prober) probeMountByCreatingCgroup(mount string) {
	for _, controller := range limitControllers {
		p.mounted = p.mounted || p.result.Controllers[controller].Mount == mount
	}
	root := path.Join(mount, p.root.String())
	err := p.files.Mkdir(root)
	created := err == nil
	if created || errors.Is(err, fs.ErrExist) {
		err = p.probeRootByCreatingCgroup(mount, root)
	}
	if created {
		_ = p.files.Remove(root) // Another agent with the same owner may use it by now.
	}
	if err == nil {
		return
	}
	p.storeFirstRefusal(fmt.Errorf("cannot create cgroups in %s: %w", mount, err))
	for i := range p.result.Controllers {
		if p.result.Controllers[i].Mount == mount {
			p.result.Controllers[i] = Hierarchy{}
		}
	}
}

// probeRootByCreatingCgroup creates and removes a cgroup in the root of this agent. A cgroup of an earlier
// Probe that was interrupted is removed too.
func (p *prober) probeRootByCreatingCgroup(mount, root string) error {
	dir := path.Join(root, probeName)
	if err := p.files.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	c := p.result
	if mount == c.Unified {
		c.KillFile = p.hasKillFile(dir)
	}
	switch c.Controllers[Memory] {
	case Hierarchy{V1, mount}:
		c.Swap = p.hasFile(path.Join(dir, "memory.memsw.limit_in_bytes"))
	case Hierarchy{V2, mount}:
		// The root may not have enabled its controllers yet, so its own files show what the kernel has.
		c.Swap = p.hasFile(path.Join(root, "memory.swap.max"))
	}
	return p.files.Remove(dir)
}

// hasFile reports whether a file can be read.
func (p *prober) hasFile(name string) bool {
	_, err := p.files.ReadFile(name)
	return err == nil
}

// hasKillFile kills the processes in an empty cgroup, and reports whether the kernel has a file for that.
func (p *prober) hasKillFile(dir string) bool {
	return p.files.WriteFile(path.Join(dir, killFile), []byte("1")) == nil
}

// decideState returns the state of the host and why it is not Ready.
func (p *prober) decideState() (State, string) {
	for _, controller := range limitControllers {
		if p.result.Controllers[controller].Mount != "" {
			return Ready, ""
		}
	}
	if p.mounted && p.refused != nil {
		return NotWritable, p.refused.Error()
	}
	return Missing, "no hierarchy with the controller cpu, memory or pids is mounted"
}
