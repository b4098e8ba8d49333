package memory

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Usage is the resource usage of a running container, for PodStats. A zero field means the default.
type Usage struct {
	// NanoCores is the CPU usage in billionths of a core; the default is 10m.
	NanoCores int64
	// MemoryBytes is the working set; the default is 16 MiB. The memory limit bounds it.
	MemoryBytes int64
	// DiskBytes is the size of the writable layer; the default is none.
	DiskBytes int64
	// ReceiveBytes and TransmitBytes are the network traffic per second; the default is none.
	ReceiveBytes, TransmitBytes int64
}

const (
	defaultNanoCores   = 10_000_000
	defaultMemoryBytes = 16 << 20
)

// usageWord is a word of a script about usage, with the field that it sets and the unit of the
// field.
type usageWord struct {
	key   string
	field *int64
	scale resource.Scale
	form  resource.Format
}

// scriptFields returns one entry for each usage field: its key in a script, a pointer to the field, and its
// scale and format.
func (u *Usage) scriptFields() [5]usageWord {
	return [5]usageWord{
		{"cpu", &u.NanoCores, resource.Nano, resource.DecimalSI},
		{"memory", &u.MemoryBytes, 0, resource.BinarySI},
		{"disk", &u.DiskBytes, 0, resource.BinarySI},
		{"receive", &u.ReceiveBytes, 0, resource.BinarySI},
		{"transmit", &u.TransmitBytes, 0, resource.BinarySI},
	}
}

// setQuantity parses a quantity and sets the usage field that key names. It returns an error for an unknown key
// and for a quantity that is not above zero or exceeds 1Ti.
func (u *Usage) setQuantity(key, value string) error {
	for _, word := range u.scriptFields() {
		if word.key != key {
			continue
		}
		amount, err := parseQuantity(value, word.scale)
		if err == nil {
			*word.field = amount
		}
		return err
	}
	return errUnknownWord
}

// parseQuantity parses a quantity in units of scale. It returns an error unless the quantity is above zero and at
// most 1Ti.
func parseQuantity(value string, scale resource.Scale) (int64, error) {
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() <= 0 || q.CmpInt64(1<<40) > 0 {
		return 0, errors.New("not a quantity above zero as 250m or 64Mi, up to 1Ti")
	}
	return q.ScaledValue(scale), nil
}

// wordsOfSetFields returns a key=value word for each usage field that is above zero, as a script contains it.
func (u Usage) wordsOfSetFields() []string {
	var w []string
	for _, word := range u.scriptFields() {
		if *word.field > 0 {
			q := resource.NewScaledQuantity(*word.field, word.scale)
			q.Format = word.form
			w = append(w, word.key+"="+q.String())
		}
	}
	return w
}
