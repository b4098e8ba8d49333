package memory

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Usage is what a container uses while it runs, as PodStats shows it. Zero is the default
// of a field.
type Usage struct {
	// NanoCores is how much of the processors, in billionths of one; a hundredth of one.
	NanoCores int64
	// MemoryBytes is its working set, or its memory limit if that is less; 16 MiB.
	MemoryBytes int64
	// DiskBytes is the size of its writable layer; nothing.
	DiskBytes int64
	// ReceiveBytes and TransmitBytes are what goes through the network interface of the
	// pod each second; nothing.
	ReceiveBytes, TransmitBytes int64
}

const (
	defaultNanoCores   = 10_000_000
	defaultMemoryBytes = 16 << 20
)

// usageWord is a word of a script about usage: where its value is, in units of a scale.
type usageWord struct {
	key   string
	field *int64
	scale resource.Scale
	form  resource.Format
}

func (u *Usage) scriptWords() [5]usageWord {
	return [5]usageWord{
		{"cpu", &u.NanoCores, resource.Nano, resource.DecimalSI},
		{"memory", &u.MemoryBytes, 0, resource.BinarySI},
		{"disk", &u.DiskBytes, 0, resource.BinarySI},
		{"receive", &u.ReceiveBytes, 0, resource.BinarySI},
		{"transmit", &u.TransmitBytes, 0, resource.BinarySI},
	}
}

func (u *Usage) setQuantity(key, value string) error {
	for _, word := range u.scriptWords() {
		if word.key != key {
			continue
		}
		q, err := resource.ParseQuantity(value)
		if err != nil || q.Sign() <= 0 || q.CmpInt64(1<<40) > 0 {
			return errors.New("not a quantity above zero as 250m or 64Mi, up to 1Ti")
		}
		*word.field = q.ScaledValue(word.scale)
		return nil
	}
	return errUnknownWord
}

// nonDefaultWords are those of a script for what is not the default.
func (u Usage) nonDefaultWords() []string {
	var w []string
	for _, word := range u.scriptWords() {
		if *word.field > 0 {
			q := resource.NewScaledQuantity(*word.field, word.scale)
			q.Format = word.form
			w = append(w, word.key+"="+q.String())
		}
	}
	return w
}
