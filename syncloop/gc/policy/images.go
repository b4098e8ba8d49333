package policy

import (
	"cmp"
	"slices"
	"time"
)

// Images says when images are removed. The zero value has the kubelet's
// numbers.
type Images struct {
	// HighThresholdPercent is the use of the disk from which images are
	// removed, down to LowThresholdPercent. Default 85 and 80; 100 as the high
	// one is never.
	HighThresholdPercent, LowThresholdPercent int
	// MinAge is how long an image is kept after it was first seen. Default two
	// minutes.
	MinAge time.Duration
	// MaxAge is how long an unused image is kept. Default for ever.
	MaxAge time.Duration
}

// The kubelet's numbers for images.
const (
	// DefaultHighThresholdPercent is Images.HighThresholdPercent if that is zero.
	DefaultHighThresholdPercent = 85
	// DefaultLowThresholdPercent is Images.LowThresholdPercent if that is zero.
	DefaultLowThresholdPercent = 80
	// DefaultImageMinAge is Images.MinAge if that is zero.
	DefaultImageMinAge = 2 * time.Minute
)

// Complete is the policy with its defaults.
func (p Images) Complete() Images {
	p.HighThresholdPercent = cmp.Or(p.HighThresholdPercent, DefaultHighThresholdPercent)
	p.LowThresholdPercent = min(cmp.Or(p.LowThresholdPercent, DefaultLowThresholdPercent), p.HighThresholdPercent)
	p.MinAge = cmp.Or(p.MinAge, DefaultImageMinAge)
	return p
}

// Image is an image that is present.
type Image struct {
	ID        string
	SizeBytes uint64
	FirstSeen time.Time // zero: it was there at the first look
	LastUsed  time.Time // when it was last seen in use; zero: never
	Used      bool      // now: by a container record, or because it is pinned or leased
	Expired   bool      // it goes for its age, also if there is room
}

// Disk is the file system that images are on.
type Disk struct{ CapacityBytes, UsedBytes uint64 }

// Percent is how full the disk is; zero if nothing is known.
func (d Disk) Percent() int {
	if d.CapacityBytes == 0 {
		return 0
	}
	return int(float64(min(d.UsedBytes, d.CapacityBytes)) / float64(d.CapacityBytes) * 100)
}

// TooMuch is how many bytes must be freed to be at the low threshold; zero below the
// high one.
func (p Images) TooMuch(d Disk) uint64 {
	if d.CapacityBytes == 0 || p.HighThresholdPercent >= 100 || d.Percent() < p.HighThresholdPercent {
		return 0
	}
	percent := uint64(max(p.LowThresholdPercent, 0))
	low := d.CapacityBytes/100*percent + d.CapacityBytes%100*percent/100
	return d.UsedBytes - min(low, d.UsedBytes)
}

// Expired are the images that no container has used for MaxAge. An image counts as used
// until since, when observation began.
func (p Images) Expired(images []Image, since, now time.Time) (expired []Image) {
	if p.MaxAge <= 0 {
		return nil
	}
	for _, i := range Unused(images) {
		unused := latest(since, i.FirstSeen, i.LastUsed)
		if now.Sub(unused) >= p.MaxAge && p.mayGo(i, now) {
			i.Expired = true
			expired = append(expired, i)
		}
	}
	return expired
}

// ToRemove are the images to remove, in order: those that have expired, and, to
// free room, all others that may go. Who removes them stops among the latter
// when enough is freed.
func (p Images) ToRemove(images []Image, since, now time.Time, room bool) []Image {
	remove := p.Expired(images, since, now)
	if !room {
		return remove
	}
	expired := len(remove)
	for _, i := range Unused(images) {
		if p.mayGo(i, now) && !slices.ContainsFunc(remove[:expired], func(e Image) bool { return e.ID == i.ID }) {
			remove = append(remove, i)
		}
	}
	return remove
}

// mayGo: an image is not in use now, nor has it just come.
func (p Images) mayGo(i Image, now time.Time) bool {
	return i.FirstSeen.IsZero() || now.Sub(i.FirstSeen) >= p.MinAge
}

// Unused are the unused images, least recently used first, then those
// that were seen first.
func Unused(images []Image) []Image {
	unused := slices.DeleteFunc(slices.Clone(images), func(i Image) bool { return i.Used })
	slices.SortStableFunc(unused, func(a, b Image) int {
		return cmp.Or(a.LastUsed.Compare(b.LastUsed), a.FirstSeen.Compare(b.FirstSeen), cmp.Compare(a.ID, b.ID))
	})
	return unused
}

func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}
