package usage

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// MaxAge is the maximum time between two samples from which a rate is computed, as in the kubelet.
const MaxAge = 10 * time.Minute

// Samples has the last figures of each pod. It has one owner, who calls AddRates for each pod regularly. Two
// owners would halve the time between samples. The zero value has no samples.
type Samples struct {
	pods  map[types.UID]map[key]sample
	total Total
}

// Total is the sum of what the containers of all pods have used since they started.
type Total struct {
	CPUNanoSeconds   uint64
	RxBytes, TxBytes uint64
}

// key identifies a counter of one pod.
type key struct {
	of   kind
	name string // a container's ID, or an interface
}

type kind uint8

const (
	cpu kind = iota
	received
	sent
)

// sample is the value of a counter at a time, with its rate since the sample before.
type sample struct {
	at    time.Time
	value uint64
	rate  *uint64
}

// AddRates stores the figures of a pod and sets the rates that follow from them and from the previous figures.
// It keeps rates that are set. It drops the samples of containers that are missing in stats. Older figures
// than the stored ones have no effect.
func (s *Samples) AddRates(uid types.UID, stats *runtime.PodStats) {
	before, now := s.pods[uid], make(map[key]sample, len(stats.Containers)+3)
	for i := range stats.Containers {
		c := &stats.Containers[i]
		s.total.CPUNanoSeconds += storeCPUSampleAndSetRate(before, now, key{cpu, c.ContainerID}, c.CPU)
	}
	storeCPUSampleAndSetRate(before, now, key{cpu, ""}, stats.CPU) // The containers are in the total already.
	s.addNetworkSamplesAndTotals(before, now, stats.Network)
	if s.pods == nil {
		s.pods = make(map[types.UID]map[key]sample)
	}
	s.pods[uid] = now
}

// storeCPUSampleAndSetRate stores a sample of the CPU counter and returns the CPU time used since the previous
// sample. It also sets the current usage in c if the runtime reports none. If the counter is unknown, it does
// nothing and returns 0.
func storeCPUSampleAndSetRate(before, now map[key]sample, k key, c *runtime.CPUStats) uint64 {
	if c == nil || c.UsageCoreNanoSeconds == nil {
		return 0
	}
	next, grown := nextSample(before, k, c.At, *c.UsageCoreNanoSeconds)
	now[k] = next
	if c.UsageNanoCores == nil {
		c.UsageNanoCores = next.rate
	}
	return grown
}

// addNetworkSamplesAndTotals stores a sample of each known network counter of a pod, and adds the growth since
// the previous sample to the totals.
func (s *Samples) addNetworkSamplesAndTotals(before, now map[key]sample, n *runtime.NetworkStats) {
	if n == nil {
		return
	}
	for _, i := range n.Interfaces {
		for _, c := range []struct {
			key   key
			value *uint64
			total *uint64
		}{{key{received, i.Name}, i.RxBytes, &s.total.RxBytes}, {key{sent, i.Name}, i.TxBytes, &s.total.TxBytes}} {
			if c.value != nil {
				next, grown := nextSample(before, c.key, n.At, *c.value)
				now[c.key] = next
				*c.total += grown
			}
		}
	}
}

// nextSample returns the new sample of a counter with its rate, and the growth since the previous sample. A
// counter without a previous sample, or with a lower value because it was reset, has grown by its value and has
// no rate. If at is not later than the previous sample, that sample is returned with no growth.
func nextSample(before map[key]sample, k key, at time.Time, value uint64) (next sample, growth uint64) {
	last, known := before[k]
	next = sample{at: at, value: value}
	switch {
	case !known:
		return next, value
	case !at.After(last.at):
		return last, 0
	case value < last.value:
		return next, value
	}
	grown := value - last.value
	if passed := at.Sub(last.at); passed <= MaxAge {
		next.rate = new(uint64(float64(grown) / passed.Seconds()))
	}
	return next, grown
}

// Total returns what all pods have used, including removed pods.
func (s *Samples) Total() Total { return s.total }

// RemoveUnknown removes the samples of the pods for which known returns false. The counters of a pod that
// comes back count from zero.
func (s *Samples) RemoveUnknown(known func(types.UID) bool) {
	for uid := range s.pods {
		if !known(uid) {
			delete(s.pods, uid)
		}
	}
}
