package main

import (
	"context"
	goruntime "runtime"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podworkers/podsync/hookhttp"
	"github.com/podkeel/podkeel/podworkers/prober/grpccheck"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/node/statedir"
)

// startTimeout is how long the start waits for answers about the machine.
const startTimeout = 2 * time.Second

// configureContainerd sets the runtime, and the parts of the node that need real containers: logs, evictions, capacity,
// cgroups, hooks and probes. containerd need not be running yet.
func (g *gateway) configureContainerd(dir *statedir.Dir, endpoint string) error {
	c := &g.config
	owner, err := cri.OwnerFile(dir.Root())
	if err != nil {
		return err
	}
	runtime, err := cri.New(cri.Config{Endpoint: endpoint, Owner: owner, Log: c.Log})
	if err != nil {
		return err
	}
	c.Runtime, c.Containers.RuntimeName, c.Containers.SeccompRoot = runtime, "containerd", dir.Path("seccomp")
	c.Containers.HTTP, c.Probes.GRPC = hookhttp.New(hookhttp.Config{}), grpccheck.New(grpccheck.Config{})
	c.Logs.Root = dir.Path("logs")
	if err := dir.ConfigureEviction(c, runtime); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if observed, err := c.Eviction.Signals.ReadSignals(ctx); err == nil { // Otherwise requests are not compared with the machine.
		c.Scheduling.Capacity = v1.ResourceList{
			v1.ResourceCPU:    *resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(observed.Signals[eviction.MemoryAvailable].Capacity, resource.BinarySI),
		}
	}
	if !g.evicts { // Limits of local storage are enforced all the same.
		c.Eviction.Policy = eviction.Policy{}
	}
	return configureCgroups(ctx, c, runtime, owner)
}

// configureCgroups gives each pod a cgroup of its own, and limits all pods together. It does nothing if the runtime has
// the cgroup driver systemd or this machine permits no cgroups: then only the limits of containers apply.
func configureCgroups(ctx context.Context, c *node.Config, runtime *cri.Runtime, owner string) error {
	root, err := cgroups.RootForOwner(owner)
	if err != nil {
		return err
	}
	files := cgroups.NewHostFiles("/")
	capabilities := cgroups.Probe(files, root)
	systemd := capabilities.Systemd
	if driver, err := runtime.CgroupDriver(ctx); err == nil { // An old containerd does not know the call.
		systemd = driver == cri.CgroupDriverSystemd
	}
	if systemd || capabilities.State != cgroups.Ready {
		c.Log.Warn("pods get no cgroups of their own", "systemd", systemd, "reason", capabilities.Reason)
		return nil
	}
	c.Cgroups.EnforceAllocatable = true
	c.Cgroups.PodCgroups, err = cgroups.New(cgroups.Config{Root: root, Files: files, Capabilities: capabilities})
	return err
}
