package node

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime/cgroups"
)

// CgroupManager creates, sizes and removes the cgroups of pods: a *cgroups.Manager. The methods are called
// concurrently for different pods, and must not block for long, because a sync of a pod waits for them.
type CgroupManager interface {
	// Ensure creates the cgroup of a pod if it is missing and writes the values that differ. It returns the
	// directory for the runtime, also with an error that is only about a limit below what the pod uses. With
	// the generation of its last success for the pod it need not read anything. It is called in each sync of a
	// pod that does not terminate, and once more if the sync resizes containers. After an error without a
	// directory nothing of the pod starts. After any error the sync is retried with a backoff.
	Ensure(uid types.UID, values podresources.PodValues, generation int64) (dir string, err error)
	// EnsureQOS does the same for the cgroups that contain the pods. It is called before Ensure if the CPU shares
	// of all Burstable pods have changed, and every podsync.CgroupCheckPeriod. After an error nothing of the pod
	// starts whose sync has called it.
	EnsureQOS(values cgroups.QOSValues) error
	// List returns the UIDs of all pods that have a cgroup. It is called by one caller at a time when pods have
	// changed, so that the cgroups of unknown pods are removed. After an error it is called again with a backoff.
	List() ([]types.UID, error)
	// Remove removes the cgroup of a pod, after its containers and sandboxes have stopped. It kills processes that
	// are left in it, and returns an error while there are any. It is no error if there is no cgroup. After an
	// error it is called again with a backoff.
	Remove(ctx context.Context, uid types.UID) error
}

// CgroupOOMReader is an optional part of CgroupManager. A *cgroups.Manager has it. Without it a container is
// reported as killed only if the runtime gives it the reason OOMKilled and it exited by SIGKILL.
type CgroupOOMReader interface {
	// ReadOOM returns the counters of a pod's cgroup and of the cgroups directly in it, whose names are the
	// IDs of containers. The error is cgroups.ErrNotFound if the pod has no cgroup, and cgroups.ErrUnavailable
	// if the host has none.
	ReadOOM(uid types.UID) ([]cgroups.OOM, error)
}

// CgroupValuesReader is an optional part of CgroupManager. A *cgroups.Manager has it. Without it the status of a pod with
// resources of its own has the resources of its spec.
type CgroupValuesReader interface {
	// ReadPodValues returns the values that the cgroup of a pod has. It is called in each sync of a pod with
	// spec.resources. The error is cgroups.ErrNotFound if the pod has no cgroup, and cgroups.ErrUnavailable if the
	// host has none.
	ReadPodValues(uid types.UID) (podresources.PodValues, error)
}

// podCgroups is the podsync.Cgroups of the node. It computes the values of each cgroup from the spec of the pod.
// As a directoryStore it also finds the cgroups of pods that are gone.
type podCgroups struct {
	manager CgroupManager
	oom     CgroupOOMReader    // nil: the manager is none
	values  CgroupValuesReader // nil: the manager is none
	policy  podresources.Policy
	release bool
	clock   clock.PassiveClock
	log     *slog.Logger
	mu      struct {
		sync.Mutex
		// left are the pods that had a cgroup when the node started, if release is true; nil: not listed yet.
		left       map[types.UID]bool
		listFailed bool                // the error of the list was logged
		requests   map[types.UID]int64 // the requested CPU of the Burstable pods in thousandths
		// sum has the requests of all of them, and written the sum that was written last.
		sum, written int64
		checked      int64 // the number of the check period in which the sum was written
	}
}

// newPodCgroups returns the cgroups of the Config, or nil if it has none.
func newPodCgroups(config CgroupsConfig, clk clock.PassiveClock, log *slog.Logger) *podCgroups {
	if config.PodCgroups == nil {
		return nil
	}
	c := &podCgroups{manager: config.PodCgroups, release: config.Release, clock: clk, log: log}
	c.oom, _ = config.PodCgroups.(CgroupOOMReader)
	c.values, _ = config.PodCgroups.(CgroupValuesReader)
	if config.MaxPIDs > 0 {
		c.policy.MaxPIDs = podresources.Finite(config.MaxPIDs)
	}
	c.mu.requests = map[types.UID]int64{}
	return c
}

// syncerCgroups returns the cgroups for the PodSyncer. If the Config has none, it returns a nil interface, because
// an interface with a nil pointer would not be nil.
func (b *builder) syncerCgroups() podsync.Cgroups {
	if b.node.cgroups == nil {
		return nil
	}
	return b.node.cgroups
}

// SetUp implements podsync.Cgroups. It also gives the cgroup of all Burstable pods the CPU shares of these pods
// together, if they have changed. With CgroupsConfig.Release it only removes the limits of a cgroup that an earlier
// process has left, and returns no directory.
func (c *podCgroups) SetUp(_ context.Context, pod *v1.Pod) (string, error) {
	if c.release {
		return "", c.removeLimits(pod)
	}
	values := podresources.ValuesForPod(pod, c.policy)
	milliCPU := int64(0)
	if values.QOSClass == v1.PodQOSBurstable {
		milliCPU = podresources.MilliCPU(podresources.Requests(pod))
	}
	if err := c.setBurstableShares(pod.UID, milliCPU); err != nil {
		return "", err
	}
	return c.manager.Ensure(pod.UID, values, c.valuesGeneration(values))
}

// TearDown implements podsync.Cgroups. The next SetUp writes the smaller sum of the CPU shares.
func (c *podCgroups) TearDown(ctx context.Context, uid types.UID) error {
	if err := c.manager.Remove(ctx, uid); err != nil {
		return err
	}
	c.storeRequest(uid, 0)
	return nil
}

// ReadOOM implements podsync.OOMReader. It leaves out a cgroup that was removed while it was read. CRI-O puts
// "crio-" before the ID of a container.
func (c *podCgroups) ReadOOM(uid types.UID) (plan.OOMSnapshot, error) {
	if c.oom == nil {
		return plan.OOMSnapshot{}, nil
	}
	counters, err := c.oom.ReadOOM(uid)
	switch {
	case errors.Is(err, cgroups.ErrUnavailable):
		return plan.OOMSnapshot{}, nil
	case errors.Is(err, cgroups.ErrNotFound):
		zero := podresources.Finite(0)
		return plan.OOMSnapshot{Pod: plan.OOMCounters{Kills: zero, LimitReached: zero}}, nil
	case err != nil:
		return plan.OOMSnapshot{}, err
	}
	snapshot := plan.OOMSnapshot{Containers: make(map[string]plan.OOMCounters, len(counters))}
	for _, group := range counters {
		counters := plan.OOMCounters{Kills: group.TreeKills, LimitReached: group.LimitReached}
		if group.Name == "" {
			snapshot.Pod = counters
			continue
		}
		if !counters.Kills.IsSet() { // Cgroup v1 counts no processes of the cgroups in a cgroup.
			counters.Kills = group.Kills
		}
		if counters != (plan.OOMCounters{}) {
			snapshot.Containers[strings.TrimPrefix(group.Name, "crio-")] = counters
		}
	}
	return snapshot, nil
}

// ReadPodValues implements podsync.PodValuesReader. With CgroupsConfig.Release a pod counts as one without a cgroup, because
// only its containers have limits.
func (c *podCgroups) ReadPodValues(uid types.UID) (values podresources.PodValues, found bool, err error) {
	if c.values == nil || c.release {
		return values, false, nil
	}
	values, err = c.values.ReadPodValues(uid)
	if errors.Is(err, cgroups.ErrNotFound) || errors.Is(err, cgroups.ErrUnavailable) {
		return values, false, nil
	}
	return values, err == nil, err
}

// removeLimits removes the limits of the cgroup of a pod, if it had one when the node started. The containers in it
// are resized without it, and must not exceed their pod.
func (c *podCgroups) removeLimits(pod *v1.Pod) error {
	if !c.hasLeftCgroup(pod.UID) {
		return nil
	}
	values := podresources.ValuesForPod(pod, c.policy)
	values.CPUQuota, values.Memory, values.PIDs = podresources.Unlimited(), podresources.Unlimited(), podresources.Unlimited()
	_, err := c.manager.Ensure(pod.UID, values, c.valuesGeneration(values))
	return err
}

// hasLeftCgroup reports whether a pod had a cgroup when the node started. While the cgroups cannot be listed, it reports
// whether the counters of the cgroup can be read, and lists again at the next call. It is then false for a pod with a
// cgroup if the manager has no counters: that pod keeps its limits until a later sync, and the starts of all other pods
// are not held up.
func (c *podCgroups) hasLeftCgroup(uid types.UID) bool {
	left, err := c.podsWithCgroups()
	if err == nil {
		return left[uid]
	}
	if c.recordListFailure() {
		c.log.Error("cannot list the cgroups of earlier pods; retrying: until then some of these pods may keep their limits", "err", err)
	}
	if c.oom == nil {
		return false
	}
	_, err = c.oom.ReadOOM(uid)
	return err == nil
}

// recordListFailure stores that the list has failed, and reports whether it is the first time.
func (c *podCgroups) recordListFailure() (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, c.mu.listFailed = !c.mu.listFailed, true
	return first
}

// podsWithCgroups returns the pods that had a cgroup at the first successful call.
func (c *podCgroups) podsWithCgroups() (map[types.UID]bool, error) {
	c.mu.Lock()
	left := c.mu.left
	c.mu.Unlock()
	if left != nil {
		return left, nil
	}
	uids, err := c.manager.List()
	if err != nil {
		return nil, err
	}
	left = make(map[types.UID]bool, len(uids))
	for _, uid := range uids {
		left[uid] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.left = left
	return left, nil
}

// setBurstableShares stores the requested CPU of a Burstable pod in thousandths, or 0 for another pod. It then
// writes the CPU shares of the cgroup that all Burstable pods share. The value is the converted sum of all stored
// requests, because the conversion of each single request would round. If the sum has changed during a write, it
// writes the new sum too. It writes nothing if the same sum was already written in the present check period. It
// returns the error of a failed write.
func (c *podCgroups) setBurstableShares(uid types.UID, milliCPU int64) error {
	sum, written := c.storeRequest(uid, milliCPU)
	for !written {
		shares := podresources.Finite(podresources.SharesFromMilliCPU(sum))
		err := c.manager.EnsureQOS(cgroups.QOSValues{Burstable: cgroups.Values{CPUShares: shares}})
		if err != nil {
			return err
		}
		sum, written = c.recordWrittenAndCompareNewest(sum)
	}
	return nil
}

// storeRequest stores the requested CPU of a Burstable pod, or 0 for another or a removed pod. It returns the sum
// of all pods, and whether the last written sum equals it.
func (c *podCgroups) storeRequest(uid types.UID, milliCPU int64) (sum int64, written bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.sum += milliCPU - c.mu.requests[uid]
	if c.mu.requests[uid] = milliCPU; milliCPU == 0 {
		delete(c.mu.requests, uid)
	}
	return c.mu.sum, c.mu.written == c.mu.sum && c.mu.checked == c.numberOfCheckPeriod()
}

// recordWrittenAndCompareNewest stores the sum that was written last. It returns the newest sum, and whether
// that is the same.
func (c *podCgroups) recordWrittenAndCompareNewest(sum int64) (newest int64, written bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.written, c.mu.checked = sum, c.numberOfCheckPeriod()
	return c.mu.sum, c.mu.sum == sum
}

// valuesGeneration returns a number that changes with the values, and every podsync.CgroupCheckPeriod, so that the
// files are then read again. It is never 0.
func (c *podCgroups) valuesGeneration(values podresources.PodValues) int64 {
	h := fnv.New64a()
	fmt.Fprint(h, values, c.numberOfCheckPeriod())
	return int64(h.Sum64()>>1) | 1
}

// numberOfCheckPeriod returns the number of the current podsync.CgroupCheckPeriod, so that the result changes
// once per period.
func (c *podCgroups) numberOfCheckPeriod() int64 {
	return c.clock.Now().UnixNano() / int64(podsync.CgroupCheckPeriod)
}

// Pods implements directoryStore: it lists the pods that have a cgroup and for which match returns true.
func (c *podCgroups) Pods(match func(types.UID) bool, limit int) (uids []types.UID, err error) {
	all, err := c.manager.List()
	for _, uid := range all {
		if len(uids) < limit && match(uid) {
			uids = append(uids, uid)
		}
	}
	return uids, err
}

// Remove implements directoryStore.
func (c *podCgroups) Remove(ctx context.Context, uid types.UID, isGone func(types.UID) bool) error {
	if !isGone(uid) {
		return nil
	}
	return c.TearDown(ctx, uid)
}
