package node

import (
	"context"
	"errors"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/evictor"
)

// CgroupTotalReader is an optional part of CgroupManager. A *cgroups.Manager has it. Without it the node measures no
// allocatableMemory.available.
type CgroupTotalReader interface {
	// ReadTotalUsage returns the usage of all pods together. The evictor calls it in each pass. The error is
	// cgroups.ErrNotFound if there is no cgroup for pods yet, and cgroups.ErrUnavailable if the host has none.
	ReadTotalUsage() (cgroups.Usage, error)
}

// Reasons of the events of the node about the limits of all pods together.
const (
	reasonLimitsFailed  = "FailedNodeAllocatableEnforcement"
	reasonLimitsWritten = "SuccessfulNodeAllocatableEnforcement"
)

// limitsRetryPeriod is the time after which limits that could not be written are written again.
const limitsRetryPeriod = time.Minute

// totalLimits writes the limits of all pods together to the cgroup that contains the pods. (CG-19, CG-20)
type totalLimits struct {
	node   *Node
	values cgroups.Values
	// release: the limits of an earlier process are removed once.
	release bool
}

// totalValues returns the limits of all pods together: the capacity without the reserved resources. What eviction
// thresholds keep free is not subtracted, because the limit would otherwise be reached before a threshold. A resource
// without a capacity has no limit. A capacity of memory that is not positive, or above an int64, gives no limit either:
// a limit of 0 would kill all pods.
func (c *Config) totalValues() cgroups.Values {
	all := mergeResources(c.unreservedCapacity(), c.Scheduling.MachineCapacity)
	var values cgroups.Values
	if memory, ok := all[v1.ResourceMemory]; ok {
		values.Memory = podresources.Unlimited()
		if memory.Sign() > 0 && memory.CmpInt64(math.MaxInt64) <= 0 {
			values.Memory = podresources.Finite(memory.Value())
		}
	}
	if _, ok := all[v1.ResourceCPU]; ok {
		values.CPUShares = podresources.Finite(podresources.SharesFromMilliCPU(podresources.MilliCPU(all)))
	}
	values.PIDs = podresources.Unlimited() // An earlier process may have left a limit.
	if c.Cgroups.MaxTotalPIDs > 0 {
		values.PIDs = podresources.Finite(c.Cgroups.MaxTotalPIDs)
	}
	return values
}

// newTotalLimits returns the limits of all pods together, or nil if the Config sets none. With CgroupsConfig.Release
// they remove the limits of an earlier process.
func newTotalLimits(n *Node) *totalLimits {
	switch c := &n.config; {
	case c.Cgroups.PodCgroups == nil:
		return nil
	case c.Cgroups.Release:
		return &totalLimits{n, cgroups.Values{Memory: podresources.Unlimited(), PIDs: podresources.Unlimited()}, true}
	case c.Cgroups.EnforceAllocatable:
		return &totalLimits{n, c.totalValues(), false}
	}
	return nil
}

// run writes the limits, and repeats a failed write after limitsRetryPeriod. If release is set, it returns after
// the first successful write. Otherwise it writes again each podsync.CgroupCheckPeriod, which restores limits that
// another program has changed. It also returns when ctx has ended. The error is always nil.
func (l *totalLimits) run(ctx context.Context) error {
	for written := false; ; {
		err := l.writeLimits()
		if err == nil && l.release {
			return nil
		}
		l.recordEvent(err, written)
		period := podsync.CgroupCheckPeriod
		if written = err == nil; !written {
			period = limitsRetryPeriod
		}
		if l.node.executor.Sleep(ctx, period) != nil {
			return nil
		}
	}
}

// writeLimits writes the values that differ. With release it does nothing if no cgroup is left.
func (l *totalLimits) writeLimits() error {
	manager := l.node.config.Cgroups.PodCgroups
	_, err := contain.CallWithResult(l.node.guard, "PodCgroups.EnsureQOS", func() (struct{}, error) {
		if l.release {
			if left, err := manager.List(); err != nil || len(left) == 0 {
				return struct{}{}, err
			}
		}
		return struct{}{}, manager.EnsureQOS(cgroups.QOSValues{Root: l.values})
	})
	return err
}

// recordEvent records a warning event of the node after a failure, and a normal event after the first success or the
// first success after a failure. It also logs failures.
func (l *totalLimits) recordEvent(err error, writtenBefore bool) {
	n := l.node
	if err != nil {
		n.config.Log.Warn("the limits of all pods together could not be written, and are written again", "err", err)
	}
	if n.config.Recorder == nil || err == nil && writtenBefore {
		return
	}
	object := &v1.ObjectReference{Kind: "Node", Name: n.config.Name, UID: types.UID(n.config.Name)}
	if err != nil {
		n.config.Recorder.Eventf(object, v1.EventTypeWarning, reasonLimitsFailed, "Failed to update Node Allocatable Limits: %v", err)
		return
	}
	n.config.Recorder.Event(object, v1.EventTypeNormal, reasonLimitsWritten, "Updated Node Allocatable limit across pods")
}

// allocatableMemorySignals returns the signals with allocatableMemory.available. ok is false if nothing limits the
// memory of all pods together, or if nothing measures it.
func (b *builder) allocatableMemorySignals(signals evictor.SignalReader) (_ evictor.SignalReader, ok bool) {
	c := &b.node.config
	reader, measures := c.Cgroups.PodCgroups.(CgroupTotalReader)
	limit := c.totalValues().Memory
	if _, isLimited := limit.Number(); !measures || !isLimited || !c.Cgroups.EnforceAllocatable || c.Cgroups.Release {
		return nil, false
	}
	return allocatableMemory{signals, reader, limit, b.node.executor}, true
}

// allocatableMemory is a SignalReader that adds allocatableMemory.available.
type allocatableMemory struct {
	evictor.SignalReader
	pods     CgroupTotalReader
	limit    podresources.Value
	executor executor.Executor
}

// ReadSignals implements evictor.SignalReader. While no cgroup has pods, all of the memory is available.
func (a allocatableMemory) ReadSignals(ctx context.Context) (eviction.Observations, error) {
	observed, err := a.SignalReader.ReadSignals(ctx)
	capacity, _ := a.limit.Number()
	available := capacity
	usage, readErr := a.pods.ReadTotalUsage()
	switch {
	case errors.Is(readErr, cgroups.ErrNotFound) || errors.Is(readErr, cgroups.ErrUnavailable):
	case readErr != nil:
		return observed, errors.Join(err, readErr)
	default:
		measured := false
		if available, measured = usage.AvailableMemory(a.limit).Number(); !measured {
			return observed, err
		}
	}
	if observed.Signals == nil {
		observed.Signals = map[eviction.Signal]eviction.Observation{}
	}
	observed.Signals[eviction.AllocatableMemoryAvailable] = eviction.Observation{Available: available, Capacity: capacity, Time: a.executor.Now()}
	return observed, err
}
