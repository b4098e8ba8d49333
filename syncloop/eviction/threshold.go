package eviction

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Amount is a number of bytes, inodes or processes, or a part of the capacity.
type Amount struct {
	// Quantity is the absolute amount if Percent is 0.
	Quantity resource.Quantity
	// Percent is the part of the capacity in percent.
	Percent float32
}

// ParseAmount parses a quantity such as 100Mi, or a percentage such as 10%.
func ParseAmount(text string) (Amount, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	if !isPercent {
		q, err := podspec.ParseQuantity(text)
		if err != nil {
			return Amount{}, fmt.Errorf("%q is no quantity and no percentage", text)
		}
		if q.CmpInt64(math.MaxInt64) > 0 {
			return Amount{}, fmt.Errorf("%q is too large", text)
		}
		return Amount{Quantity: q}, nil
	}
	percent, err := strconv.ParseFloat(number, 32)
	if err != nil || math.IsNaN(percent) || math.IsInf(percent, 0) {
		return Amount{}, fmt.Errorf("%q is no percentage", text)
	}
	return Amount{Percent: float32(percent)}, nil
}

// Of returns the amount for a signal with this capacity, rounded down.
func (a Amount) Of(capacity int64) int64 {
	if a.Percent == 0 {
		return valueSaturating(&a.Quantity)
	}
	if amount := float64(capacity) * float64(a.Percent/100); amount < math.MaxInt64 {
		return int64(amount)
	}
	return math.MaxInt64
}

// formatFor returns the amount for a signal with this capacity as the text of a quantity.
func (a Amount) formatFor(s Signal, capacity int64) string {
	if a.Percent == 0 {
		return a.Quantity.String()
	}
	return quantityText(s.Resource(), a.Of(capacity))
}

// Threshold is a value of a signal below which the node acts.
type Threshold struct {
	Signal Signal
	Value  Amount
	// MinReclaim is added to Value when the question is whether the node has recovered.
	MinReclaim Amount
	// Grace is how long the threshold must be met before the node acts. Zero: the threshold is hard.
	Grace time.Duration
}

// IsSoft reports whether the threshold acts only after its grace period.
func (t Threshold) IsSoft() bool { return t.Grace > 0 }

// historyKeyWithoutValue returns the key of the threshold in a History: the signal, and whether the threshold
// is hard or soft. The value is not in the key, so a threshold with a changed value keeps its history. A signal
// has at most one hard and one soft threshold.
func (t Threshold) historyKeyWithoutValue() thresholdKey { return thresholdKey{t.Signal, t.IsSoft()} }

// isMet reports whether an observed value is below the threshold; with unresolved, below its value plus its
// MinReclaim.
func (t Threshold) isMet(o Observation, unresolved bool) bool {
	limit := t.Value.Of(o.Capacity)
	if unresolved {
		limit = addSaturating(limit, t.MinReclaim.Of(o.Capacity))
	}
	return o.Available < limit
}

// compareThresholds orders thresholds by their precedence in a decision. Hard thresholds come before soft ones.
// Thresholds of the same kind follow the order of their signals in signalOrder. (EV-13, EV-34)
func compareThresholds(a, b Threshold) int {
	softness := func(t Threshold) int {
		if t.IsSoft() {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(softness(a), softness(b)), cmp.Compare(a.Signal.decisionOrder(), b.Signal.decisionOrder()))
}

// Settings are the eviction fields of a KubeletConfiguration. The keys are names of signals.
type Settings struct {
	// Hard and Soft have the values of the thresholds, for example memory.available: 100Mi.
	Hard, Soft map[string]string
	// SoftGracePeriod has the grace period of each soft threshold, for example memory.available: 1m30s.
	SoftGracePeriod map[string]string
	// MinimumReclaim has the MinReclaim of both thresholds of a signal.
	MinimumReclaim map[string]string
}

// DefaultHard returns the hard thresholds of a kubelet on Linux that has no setting for them.
func DefaultHard() map[string]string {
	return map[string]string{
		string(MemoryAvailable): "100Mi", string(NodeFsAvailable): "10%", string(NodeFsInodesFree): "5%",
		string(ImageFsAvailable): "15%", string(ImageFsInodesFree): "5%",
	}
}

// ParseSettings parses text in the form of the flags of a kubelet: signal<value or signal=value, separated by
// commas. separator is "<" for the values of thresholds, and "=" for grace periods and minimum reclaim. The
// result of an empty text is empty, not nil: it sets no threshold.
func ParseSettings(text, separator string) (map[string]string, error) {
	settings := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, separator)
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("eviction: %q does not have the form signal%svalue", part, separator)
		}
		if _, twice := settings[name]; twice {
			return nil, fmt.Errorf("eviction: %s is set twice", name)
		}
		settings[name] = value
	}
	return settings, nil
}

// Thresholds returns the thresholds of the settings in the order in which a pass prefers them. It leaves out
// thresholds of 0 % and 100 %, and thresholds of containerfs. It reports every fault of the settings in its error.
func (s Settings) Thresholds() ([]Threshold, error) {
	var all []Threshold
	var faults []error
	reclaim := map[Signal]Amount{}
	for _, name := range slices.Sorted(maps.Keys(s.MinimumReclaim)) {
		amount, err := parseSignalAmount("minimum reclaim", name, s.MinimumReclaim[name])
		if err == nil && (amount.Quantity.Sign() < 0 || amount.Percent < 0) {
			err = fmt.Errorf("eviction: minimum reclaim of %s is negative", name)
		}
		faults = append(faults, err)
		reclaim[Signal(name)] = amount
	}
	add := func(kind, name, value string, grace time.Duration) {
		amount, err := parseSignalAmount(kind, name, value)
		if err == nil {
			err = checkThresholdValue(kind, name, amount, strings.HasSuffix(value, "%"))
		}
		faults = append(faults, err)
		isWhole := strings.HasSuffix(value, "%") && (amount.Percent == 0 || amount.Percent == 100)
		if err == nil && !isWhole && !Signal(name).isContainerFs() {
			all = append(all, Threshold{Signal: Signal(name), Value: amount, MinReclaim: reclaim[Signal(name)], Grace: grace})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Hard)) {
		add("hard threshold", name, s.Hard[name], 0)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Soft)) {
		grace, err := time.ParseDuration(s.SoftGracePeriod[name])
		if err != nil || grace <= 0 {
			faults = append(faults, fmt.Errorf("eviction: soft threshold of %s needs a grace period above 0, and has %q", name, s.SoftGracePeriod[name]))
			grace = time.Nanosecond
		}
		add("soft threshold", name, s.Soft[name], grace)
	}
	for _, name := range slices.Sorted(maps.Keys(s.SoftGracePeriod)) {
		if !slices.Contains(Signals(), Signal(name)) {
			faults = append(faults, fmt.Errorf("eviction: soft grace period: unknown signal %q", name))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	slices.SortFunc(all, compareThresholds)
	return all, nil
}

// parseSignalAmount parses the value of a setting and checks the name of its signal.
func parseSignalAmount(kind, name, value string) (Amount, error) {
	if !slices.Contains(Signals(), Signal(name)) || Signal(name) == AllocatableMemoryAvailable && kind == "soft threshold" {
		return Amount{}, fmt.Errorf("eviction: %s: unknown signal %q", kind, name)
	}
	amount, err := ParseAmount(value)
	if err != nil {
		return Amount{}, fmt.Errorf("eviction: %s of %s: %w", kind, name, err)
	}
	return amount, nil
}

// checkThresholdValue returns an error unless the value is above 0, or from 0 % to 100 %.
func checkThresholdValue(kind, name string, a Amount, isPercent bool) error {
	switch {
	case isPercent && (a.Percent < 0 || a.Percent > 100):
		return fmt.Errorf("eviction: %s of %s is not from 0%% to 100%%", kind, name)
	case !isPercent && a.Quantity.Sign() <= 0:
		return fmt.Errorf("eviction: %s of %s is not above 0", kind, name)
	}
	return nil
}

// AddAllocatableMemory returns the thresholds with a copy of the hard threshold of memory.available for
// allocatableMemory.available. It is for a node that limits the memory of all pods together. It returns the
// thresholds themselves if they have no hard threshold of memory.available, or one of allocatableMemory.available.
func AddAllocatableMemory(thresholds []Threshold) []Threshold {
	i := slices.IndexFunc(thresholds, func(t Threshold) bool { return t.Signal == MemoryAvailable && !t.IsSoft() })
	if i < 0 || slices.ContainsFunc(thresholds, func(t Threshold) bool { return t.Signal == AllocatableMemoryAvailable }) {
		return thresholds
	}
	copied := thresholds[i]
	copied.Signal = AllocatableMemoryAvailable
	all := append(slices.Clone(thresholds), copied)
	slices.SortStableFunc(all, compareThresholds)
	return all
}
