package policy

import (
	"cmp"
	"slices"
	"time"
)

// Images defines when images are removed. The zero value has the kubelet's defaults.
type Images struct {
	// HighThresholdPercent is the disk usage at which images are removed, down to
	// LowThresholdPercent. Default 85 and 80. A high threshold of 100 disables this.
	HighThresholdPercent, LowThresholdPercent int
	// MinAge is how long an image is kept after it was first seen. Default two minutes.
	MinAge time.Duration
	// MaxAge is how long an unused image is kept. Default unlimited.
	MaxAge time.Duration
}

// The kubelet's defaults for images.
const (
	// DefaultHighThresholdPercent is the default of Images.HighThresholdPercent.
	DefaultHighThresholdPercent = 85
	// DefaultLowThresholdPercent is the default of Images.LowThresholdPercent.
	DefaultLowThresholdPercent = 80
	// DefaultImageMinAge is the default of Images.MinAge.
	DefaultImageMinAge = 2 * time.Minute
)

// Complete returns the policy with its defaults.
func (p Images) Complete() Images {
	p.HighThresholdPercent = cmp.Or(p.HighThresholdPercent, DefaultHighThresholdPercent)
	p.LowThresholdPercent = min(cmp.Or(p.LowThresholdPercent, DefaultLowThresholdPercent), p.HighThresholdPercent)
	p.MinAge = cmp.Or(p.MinAge, DefaultImageMinAge)
	return p
}

// Image is a present image.
type Image struct {
	ID        string
	SizeBytes uint64
	FirstSeen time.Time // zero: it was in the first list
	LastUsed  time.Time // when it was last seen in use; zero: never
	Used      bool      // in use now: a container record refers to it, or it is pinned or leased
	Expired   bool      // it is removed because of its age, also if the disk has room
}

// Disk is the file system of the images.
type Disk struct{ CapacityBytes, UsedBytes uint64 }

// Percent returns the disk usage in percent; zero if it is unknown.
func (d Disk) Percent() int {
	if d.CapacityBytes == 0 {
		return 0
	}
	return int(float64(min(d.UsedBytes, d.CapacityBytes)) / float64(d.CapacityBytes) * 100)
}

// BytesToFree returns how many bytes must be freed to reach the low threshold. It is zero below the
// high threshold.
func (p Images) BytesToFree(d Disk) uint64 {
	if d.CapacityBytes == 0 || p.HighThresholdPercent >= 100 || d.Percent() < p.HighThresholdPercent {
		return 0
	}
	percent := uint64(max(p.LowThresholdPercent, 0))
	low := d.CapacityBytes/100*percent + d.CapacityBytes%100*percent/100
	return d.UsedBytes - min(low, d.UsedBytes)
}

// Expired returns the images that no container has used for MaxAge. Every image counts as used
// until since, the time of the first list.
func (p Images) Expired(images []Image, since, now time.Time) (expired []Image) {
	if p.MaxAge <= 0 {
		return nil
	}
	for _, i := range Unused(images) {
		unused := latestOf(since, i.FirstSeen, i.LastUsed)
		if now.Sub(unused) >= p.MaxAge && p.isOldEnough(i, now) {
			i.Expired = true
			expired = append(expired, i)
		}
	}
	return expired
}

// ToRemove returns the images to remove, in order: first the expired ones, and with room all other
// removable ones. The caller stops among the latter when enough is freed.
func (p Images) ToRemove(images []Image, since, now time.Time, room bool) []Image {
	remove := p.Expired(images, since, now)
	if !room {
		return remove
	}
	expired := len(remove)
	for _, i := range Unused(images) {
		if p.isOldEnough(i, now) && !slices.ContainsFunc(remove[:expired], func(e Image) bool { return e.ID == i.ID }) {
			remove = append(remove, i)
		}
	}
	return remove
}

// isOldEnough reports whether an image was first listed at least MinAge ago. It returns true if that time is
// unknown.
func (p Images) isOldEnough(i Image, now time.Time) bool {
	return i.FirstSeen.IsZero() || now.Sub(i.FirstSeen) >= p.MinAge
}

// Unused returns the unused images, the least recently used first, and then those that were first
// seen earlier.
func Unused(images []Image) []Image {
	unused := slices.DeleteFunc(slices.Clone(images), func(i Image) bool { return i.Used })
	slices.SortStableFunc(unused, func(a, b Image) int {
		return cmp.Or(a.LastUsed.Compare(b.LastUsed), a.FirstSeen.Compare(b.FirstSeen), cmp.Compare(a.ID, b.ID))
	})
	return unused
}

func latestOf(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}
