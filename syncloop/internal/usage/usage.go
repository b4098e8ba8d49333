package usage

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// MaxAge is the age above which a sample says nothing about the rate of today, as in the
// kubelet's cache of samples.
const MaxAge = 10 * time.Minute

// Samples are the last figures of pods. There is one owner, who observes each pod once in
// a while: two who took turns would halve the time between samples. The zero value has none.
type Samples struct {
	pods  map[types.UID]map[key]sample
	total Total
}

// Total is what the containers of all observed pods have used since they started.
type Total struct {
	CPUNanoSeconds   uint64
	RxBytes, TxBytes uint64
}

// key tells the counters of one pod apart.
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

// sample is a counter at a time, and the rate at which it came to that.
type sample struct {
	at    time.Time
	value uint64
	rate  *uint64
}

// AddRates takes the figures of a pod and adds the rates that follow from them and from those
// before; a rate that is there stays. What was known of a container that is not in the figures
// any more is dropped. Figures that are older than the last ones change nothing.
func (s *Samples) AddRates(uid types.UID, stats *runtime.PodStats) {
	before, now := s.pods[uid], make(map[key]sample, len(stats.Containers)+3)
	for i := range stats.Containers {
		c := &stats.Containers[i]
		s.total.CPUNanoSeconds += addCPURate(before, now, key{cpu, c.ContainerID}, c.CPU)
	}
	addCPURate(before, now, key{cpu, ""}, stats.CPU) // Its containers are counted already.
	s.addNetwork(before, now, stats.Network)
	if s.pods == nil {
		s.pods = make(map[types.UID]map[key]sample)
	}
	s.pods[uid] = now
}

// addCPURate returns how much processor time was used since the sample before.
func addCPURate(before, now map[key]sample, k key, c *runtime.CPUStats) uint64 {
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

func (s *Samples) addNetwork(before, now map[key]sample, n *runtime.NetworkStats) {
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

// nextSample is the sample after the one before, and by how much the counter has grown. A counter
// that is lower than before has begun anew.
func nextSample(before map[key]sample, k key, at time.Time, value uint64) (sample, uint64) {
	last, known := before[k]
	next := sample{at: at, value: value}
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

// Total is what all pods have used, those that are gone included.
func (s *Samples) Total() Total { return s.total }

// RemoveUnknown drops the samples of pods that are not known any more. One that comes back counts
// from its beginning.
func (s *Samples) RemoveUnknown(known func(types.UID) bool) {
	for uid := range s.pods {
		if !known(uid) {
			delete(s.pods, uid)
		}
	}
}
