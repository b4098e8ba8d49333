package command

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/syncloop/node"
)

// PodCgroups holds the flags for the cgroups of pods, which are the kubelet's.
type PodCgroups struct {
	// Off: the runtime chooses where pods run, and a pod has only the limits of its containers.
	Off bool
	// MaxPIDs is how many processes all containers of a pod may have together; 0 is no limit.
	MaxPIDs int64
	// Driver is the cgroup driver of a runtime that does not report its driver. "" means systemd on a host that systemd
	// manages, and cgroupfs on every other host.
	Driver string
}

// SetPerQOS sets the flag --cgroups-per-qos.
func (p *PodCgroups) SetPerQOS(text string) error {
	on, err := strconv.ParseBool(text)
	if p.Off = !on; err != nil {
		return errors.New("expected true or false")
	}
	return nil
}

// SetMaxPIDs sets the flag --pod-max-pids. -1 is no limit.
func (p *PodCgroups) SetMaxPIDs(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < -1 || n == 0 {
		return errors.New("expected a number of at least 1, or -1")
	}
	p.MaxPIDs = max(n, 0)
	return nil
}

// SetDriver sets the flag --cgroup-driver. "" is the default.
func (p *PodCgroups) SetDriver(text string) error {
	switch text {
	case "", cri.CgroupDriverCgroupfs, cri.CgroupDriverSystemd:
		p.Driver = text
		return nil
	}
	return errors.New("expected cgroupfs or systemd")
}

// driverTimeout is how long a runtime may take to return its cgroup driver.
const driverTimeout = 2 * time.Second

// configureRelease lets a node remove the limits and the cgroups that an earlier process has left. It does nothing if there are
// none.
func (p *PodCgroups) configureRelease(c *node.Config, root cgroups.Root, files cgroups.Files, capabilities cgroups.Capabilities) error {
	manager, err := cgroups.New(cgroups.Config{Root: root, Files: files, Capabilities: capabilities})
	if err != nil {
		return err
	}
	if left, err := manager.List(); err != nil || len(left) == 0 {
		return err
	}
	c.Cgroups = node.CgroupsConfig{PodCgroups: manager, Release: true}
	return nil
}

// Configure gives the pods of a node cgroups below /podkeel-<owner>, and limits all of them together. It does not if the
// flags switch that off, the cgroup driver of the runtime is systemd, or this host permits no cgroups; then it logs why.
// A runtime that does not answer counts as one that does not report its driver. A kubelet exits then.
func (p *PodCgroups) Configure(c *node.Config, runtime *cri.Runtime, owner string) error {
	root, err := cgroups.RootForOwner(owner)
	if err != nil {
		return err
	}
	files := cgroups.NewHostFiles("/")
	capabilities := cgroups.Probe(files, root)
	if p.Off {
		if capabilities.State != cgroups.Ready {
			return nil
		}
		return p.configureRelease(c, root, files, capabilities)
	}
	ctx, cancel := context.WithTimeout(context.Background(), driverTimeout)
	defer cancel()
	reported, reportErr := runtime.CgroupDriver(ctx)
	driver := decideDriver(p.Driver, reported, capabilities.Systemd)
	if c.Log != nil {
		driver.logWarnings(c.Log, capabilities, reportErr)
	}
	if driver.name == cri.CgroupDriverSystemd || capabilities.State != cgroups.Ready {
		return nil
	}
	c.Cgroups.MaxPIDs, c.Cgroups.EnforceAllocatable = p.MaxPIDs, true
	c.Cgroups.PodCgroups, err = cgroups.New(cgroups.Config{Root: root, Files: files, Capabilities: capabilities})
	return err
}
