package cgroups

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

// Values are the wanted values of one cgroup. A value that is unset is not written. They can be compared by ==.
type Values struct {
	// CPUShares are in the unit of cgroup v1. On cgroup v2 the file has the weight of podresources.WeightFromShares.
	CPUShares podresources.Value
	// CPUQuota and CPUPeriod are in microseconds. If CPUPeriod is unset, the period of the cgroup stays.
	CPUQuota, CPUPeriod podresources.Value
	// Memory is in bytes.
	Memory podresources.Value
	// MemorySwap is the limit of memory and swap together, in bytes. It is ignored on a host without Swap, and on
	// cgroup v2 if Memory is not a number.
	MemorySwap podresources.Value
	// MemoryHigh is the number of bytes above which the kernel slows down the processes, on cgroup v2 only.
	MemoryHigh podresources.Value
	// OOMGroup is 1 if the kernel kills all processes of the cgroup together, on cgroup v2 only.
	OOMGroup podresources.Value
	// PIDs is the number of processes and threads.
	PIDs podresources.Value
}

// FromPod returns the values of a pod's cgroup.
func FromPod(v podresources.PodValues) Values {
	return Values{CPUShares: v.CPUShares, CPUQuota: v.CPUQuota, CPUPeriod: v.CPUPeriod, Memory: v.Memory, PIDs: v.PIDs}
}

// unlimitedBytes is a limit that stands for no limit: cgroup v1 returns the largest multiple of the page size that an
// int64 holds.
const unlimitedBytes = 1 << 62

// parseValue parses the content of a cgroup file with one number. "max", "-1" and numbers that stand for no limit are
// unlimited. Any other text is unset.
func parseValue(text string) podresources.Value {
	text = strings.TrimSpace(text)
	if text == "max" || text == "-1" {
		return podresources.Unlimited()
	}
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil:
		return podresources.Value{}
	case n >= unlimitedBytes:
		return podresources.Unlimited()
	}
	return podresources.Finite(int64(n))
}

// formatValue returns the content of a file with one number. unlimited is the text for no limit: "-1" on cgroup v1,
// "max" on cgroup v2.
func formatValue(v podresources.Value, unlimited string) string {
	if v.IsUnlimited() {
		return unlimited
	}
	n, _ := v.Number()
	return strconv.FormatInt(n, 10)
}

// roundToPages rounds a number of bytes down to pages, as the kernel does.
func roundToPages(v podresources.Value, pageSize int64) podresources.Value {
	n, ok := v.Number()
	switch {
	case !ok || pageSize <= 0:
		return v
	case n >= unlimitedBytes:
		return podresources.Unlimited()
	}
	return podresources.Finite(n - n%pageSize)
}

// bandwidth is a CPU quota in each period, both in microseconds.
type bandwidth struct{ quota, period podresources.Value }

// exceedsLimit reports whether b allows more CPU time than limit.
func (b bandwidth) exceedsLimit(limit bandwidth) bool {
	quota, ok1 := b.quota.Number()
	period, ok2 := b.period.Number()
	limitQuota, ok3 := limit.quota.Number()
	limitPeriod, ok4 := limit.period.Number()
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return b.quota.Exceeds(limit.quota)
	}
	high, low := bits.Mul64(uint64(quota), uint64(limitPeriod))
	limitHigh, limitLow := bits.Mul64(uint64(limitQuota), uint64(period))
	return high > limitHigh || high == limitHigh && low > limitLow
}

// parseBandwidth parses the file cpu.max of cgroup v2, for example "50000 100000" or "max 100000".
func parseBandwidth(text string) bandwidth {
	quota, period, _ := strings.Cut(strings.TrimSpace(text), " ")
	return bandwidth{parseValue(quota), parseValue(period)}
}
