package cgroupstest

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Config describes a host.
type Config struct {
	// Mode is "v1", "hybrid" or "v2". "" means "v2". A hybrid host has the unified hierarchy too, with the
	// controllers hugetlb and io.
	Mode string
	// ReadOnly lets every change fail with EROFS.
	ReadOnly bool
	// Without are controllers that the host does not have, for example "pids".
	Without []string
	// Swap means that the host can limit swap.
	Swap bool
	// PageSize is the page size. Zero means 4096.
	PageSize int64
}

// Dir is a cgroup file system in memory. It implements cgroups.Files and
// cgroups.ProcessKiller.
type Dir struct {
	config Config

	mu     sync.Mutex
	groups map[string]*group // by path
	mounts map[string]string // the mount points, and the controller of each; "" is the unified hierarchy
	fail   func(call, path string) error
	calls  []string
}

// group is one cgroup.
type group struct {
	files     map[string]string
	processes []int
}

// mountRoot contains the mount points.
const mountRoot = "/sys/fs/cgroup"

// New returns the file system of a host without cgroups of its own. It is mounted at /sys/fs/cgroup.
func New(config Config) *Dir {
	if config.Mode == "" {
		config.Mode = "v2"
	}
	if config.PageSize == 0 {
		config.PageSize = 4096
	}
	d := &Dir{config: config, groups: map[string]*group{}, mounts: map[string]string{}}
	if config.Mode != "v2" {
		for _, controller := range []string{"cpu", "cpuacct", "memory", "pids", "freezer"} {
			if !slices.Contains(config.Without, controller) {
				d.mounts[path.Join(mountRoot, controller)] = controller
			}
		}
	}
	switch config.Mode {
	case "hybrid":
		d.mounts[path.Join(mountRoot, "unified")] = ""
	case "v2":
		d.mounts[mountRoot] = ""
	}
	for mount := range d.mounts {
		d.groups[mount] = &group{files: map[string]string{}}
		if d.mounts[mount] == "" {
			d.groups[mount].files["cgroup.controllers"] = strings.Join(d.unifiedControllers(), " ")
			d.groups[mount].files["cgroup.subtree_control"] = ""
		}
	}
	return d
}

// unifiedControllers returns the controllers of the unified hierarchy.
func (d *Dir) unifiedControllers() []string {
	all := []string{"cpu", "hugetlb", "memory", "pids"}
	if d.config.Mode != "v2" {
		all = []string{"hugetlb", "io"}
	}
	return slices.DeleteFunc(all, func(c string) bool { return slices.Contains(d.config.Without, c) })
}

// Fail calls decide before every later call, with the name of the method and the path. The call fails with the error
// that decide returns, if any.
func (d *Dir) Fail(decide func(call, path string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = decide
}

// SetFile sets the content of a file as another program would, without any check.
func (d *Dir) SetFile(name, content string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.groups[path.Dir(name)]; g != nil {
		g.files[path.Base(name)] = content
	}
}

// SetProcesses replaces the processes in a cgroup.
func (d *Dir) SetProcesses(dir string, pids ...int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.groups[dir]; g != nil {
		g.processes = pids
	}
}

// Calls returns the calls since the last Calls, for example "WriteFile /sys/fs/cgroup/pids/a/pids.max 5".
func (d *Dir) Calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := d.calls
	d.calls = nil
	return calls
}

// Groups returns the paths of all cgroups, without the mount points, in order.
func (d *Dir) Groups() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := range d.groups {
		if _, isMount := d.mounts[name]; !isMount {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// recordCallAndReturnInjectedError records a call and returns its injected error.
func (d *Dir) recordCallAndReturnInjectedError(call, name, content string) error {
	d.calls = append(d.calls, strings.TrimSpace(call+" "+name+" "+content))
	if d.fail != nil {
		if err := d.fail(call, name); err != nil {
			return &fs.PathError{Op: call, Path: name, Err: err}
		}
	}
	if d.config.ReadOnly && (call == "Mkdir" || call == "WriteFile" || call == "Remove") {
		return &fs.PathError{Op: call, Path: name, Err: syscall.EROFS}
	}
	return nil
}

// Mkdir creates a cgroup with the values of a new one.
func (d *Dir) Mkdir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.recordCallAndReturnInjectedError("Mkdir", name, ""); err != nil {
		return err
	}
	if d.groups[name] != nil {
		return &fs.PathError{Op: "Mkdir", Path: name, Err: fs.ErrExist}
	}
	if d.groups[path.Dir(name)] == nil {
		return &fs.PathError{Op: "Mkdir", Path: name, Err: fs.ErrNotExist}
	}
	d.groups[name] = &group{files: map[string]string{}}
	d.addFiles(name)
	return nil
}

// Remove removes a cgroup without processes and without cgroups in it.
func (d *Dir) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.recordCallAndReturnInjectedError("Remove", name, ""); err != nil {
		return err
	}
	g := d.groups[name]
	_, isMount := d.mounts[name]
	switch {
	case g == nil:
		return &fs.PathError{Op: "Remove", Path: name, Err: fs.ErrNotExist}
	case isMount || len(g.processes) > 0 || len(d.childrenOf(name)) > 0:
		return &fs.PathError{Op: "Remove", Path: name, Err: syscall.EBUSY}
	}
	delete(d.groups, name)
	return nil
}

// KillProcesses ends the processes in one cgroup, in every cgroup that they are in. It implements
// cgroups.ProcessKiller.
func (d *Dir) KillProcesses(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.recordCallAndReturnInjectedError("KillProcesses", name, ""); err != nil {
		return err
	}
	g := d.groups[name]
	if g == nil {
		return nil
	}
	killed := g.processes
	for _, other := range d.groups {
		other.processes = slices.DeleteFunc(slices.Clone(other.processes), func(pid int) bool { return slices.Contains(killed, pid) })
	}
	return nil
}

// ReadDir returns the names of the cgroups directly in a cgroup.
func (d *Dir) ReadDir(name string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.recordCallAndReturnInjectedError("ReadDir", name, ""); err != nil {
		return nil, err
	}
	if d.groups[name] == nil {
		return nil, &fs.PathError{Op: "ReadDir", Path: name, Err: fs.ErrNotExist}
	}
	return d.childrenOf(name), nil
}

// childrenOf returns the names of the cgroups directly in a cgroup, in order.
func (d *Dir) childrenOf(dir string) []string {
	var names []string
	for name := range d.groups {
		if path.Dir(name) == dir && name != dir {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names
}

// ReadFile returns a file of a cgroup, /proc/self/mountinfo or /proc/pressure/memory.
func (d *Dir) ReadFile(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.recordCallAndReturnInjectedError("ReadFile", name, ""); err != nil {
		return nil, err
	}
	switch name {
	case "/proc/self/mountinfo":
		return []byte(d.mountInfo()), nil
	case "/proc/pressure/memory":
		return []byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"), nil
	}
	if g := d.groups[path.Dir(name)]; g != nil {
		if path.Base(name) == "cgroup.procs" {
			text := ""
			for _, pid := range g.processes {
				text += strconv.Itoa(pid) + "\n"
			}
			return []byte(text), nil
		}
		if text, ok := g.files[path.Base(name)]; ok && path.Base(name) != "cgroup.kill" {
			return []byte(text + "\n"), nil
		}
	}
	return nil, &fs.PathError{Op: "ReadFile", Path: name, Err: fs.ErrNotExist}
}

// mountInfo returns the text of /proc/self/mountinfo.
func (d *Dir) mountInfo() string {
	text := "22 1 0:21 / / rw shared:1 - ext4 /dev/vda rw\n"
	number := 30
	var mounts []string
	for mount := range d.mounts {
		mounts = append(mounts, mount)
	}
	slices.Sort(mounts)
	for _, mount := range mounts {
		number++
		if controller := d.mounts[mount]; controller != "" {
			text += fmt.Sprintf("%d 22 0:%d / %s rw,relatime shared:9 - cgroup cgroup rw,%s\n", number, number, mount, controller)
		} else {
			text += fmt.Sprintf("%d 22 0:%d / %s rw,relatime - cgroup2 cgroup2 rw\n", number, number, mount)
		}
	}
	return text
}

// nearestMountAbove returns the mount point that contains a cgroup: the cgroup itself or its nearest ancestor
// that is mounted. It returns "" if none is mounted. The root is not searched.
func (d *Dir) nearestMountAbove(name string) string {
	for ; name != "/"; name = path.Dir(name) {
		if _, ok := d.mounts[name]; ok {
			return name
		}
	}
	return ""
}
