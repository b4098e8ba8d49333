package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/observe"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Reserved holds the flags for resources that pods cannot use, which are the kubelet's.
type Reserved struct{ system, kube v1.ResourceList }

// resourcePIDs is the name of process IDs in the flags.
const resourcePIDs v1.ResourceName = "pid"

// SetSystem sets the flag --system-reserved.
func (r *Reserved) SetSystem(text string) (err error) {
	r.system, err = parseReserved(text)
	return err
}

// SetKube sets the flag --kube-reserved.
func (r *Reserved) SetKube(text string) (err error) {
	r.kube, err = parseReserved(text)
	return err
}

// parseReserved parses text such as cpu=500m,memory=1Gi,ephemeral-storage=1Gi,pid=1000. An empty text reserves nothing.
func parseReserved(text string) (v1.ResourceList, error) {
	list := v1.ResourceList{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		key := v1.ResourceName(strings.TrimSpace(name))
		if !slices.Contains([]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, resourcePIDs}, key) {
			return nil, fmt.Errorf("%q cannot be reserved: expected cpu, memory, ephemeral-storage or pid", key)
		}
		if _, twice := list[key]; twice {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		q, err := podspec.ParseQuantity(strings.TrimSpace(value))
		if err != nil || q.Sign() < 0 {
			return nil, fmt.Errorf("%s: expected a quantity, such as %s=500", pair, key)
		}
		list[key] = q
	}
	return list, nil
}

// totalReserved returns the sum of both flags.
func (r *Reserved) totalReserved() v1.ResourceList {
	sum := r.system.DeepCopy()
	if sum == nil {
		sum = v1.ResourceList{}
	}
	for name, q := range r.kube {
		all := sum[name]
		all.Add(q)
		sum[name] = all
	}
	return sum
}

// Fields returns the flags as fields of a KubeletConfiguration, without the empty ones.
func (r *Reserved) Fields() map[string]any {
	fields := map[string]any{}
	for name, list := range map[string]v1.ResourceList{"systemReserved": r.system, "kubeReserved": r.kube} {
		texts := map[string]string{}
		for resource, q := range list {
			texts[string(resource)] = q.String()
		}
		if len(texts) > 0 {
			fields[name] = texts
		}
	}
	return fields
}

// Configure sets c.Scheduling.Reserved and c.Cgroups.MaxTotalPIDs. A reserved resource that c.Scheduling.Capacity lacks
// gets the capacity of the machine, so that admission compares requests with the rest. root is the directory whose file
// system is the ephemeral storage. The error names every resource whose reserved amount exceeds the capacity.
func (r *Reserved) Configure(c *node.Config, root string) error {
	reserved := r.totalReserved()
	pids, hasPIDs := reserved[resourcePIDs]
	delete(reserved, resourcePIDs)
	var faults []error
	if hasPIDs {
		most, err := maxPIDs()
		if c.Cgroups.MaxTotalPIDs = most - pids.Value(); err == nil && pids.CmpInt64(most) >= 0 {
			err = exceedsCapacity(resourcePIDs, pids, *resource.NewQuantity(most, resource.DecimalSI))
		}
		faults = append(faults, err)
	}
	machine := CapacityWithDisk(root)
	c.Scheduling.Reserved, c.Scheduling.Capacity = reserved, maps.Clone(c.Scheduling.Capacity)
	for _, name := range slices.Sorted(maps.Keys(reserved)) {
		capacity, declared := c.Scheduling.Capacity[name]
		if !declared {
			if c.Scheduling.Capacity == nil {
				c.Scheduling.Capacity = v1.ResourceList{}
			}
			capacity = machine[name]
			c.Scheduling.Capacity[name] = capacity
		}
		if q := reserved[name]; q.Cmp(capacity) > 0 {
			faults = append(faults, exceedsCapacity(name, q, capacity))
		}
	}
	return errors.Join(faults...)
}

// exceedsCapacity returns the error about a resource whose reserved amount exceeds the capacity.
func exceedsCapacity(name v1.ResourceName, reserved, capacity resource.Quantity) error {
	return fmt.Errorf("--system-reserved and --kube-reserved: %s of %s is more than the capacity of %s", name, reserved.String(), capacity.String())
}

// maxPIDs returns how many processes and threads can exist on this machine. It returns an error if that is unknown.
func maxPIDs() (int64, error) {
	observed, err := observe.NewHost(observe.HostConfig{NodeDirectory: os.TempDir()}).ReadSignals(context.Background())
	if pids, measured := observed.Signals[eviction.PIDAvailable]; measured {
		return pids.Capacity, nil
	}
	return 0, errors.Join(errors.New("--system-reserved and --kube-reserved: pid: this machine does not report how many processes it can have"), err)
}
