package podresources

import "strconv"

// Value is one setting of a cgroup: unset, unlimited, or a number of at least 0. The zero Value is unset. Values can
// be compared by ==.
type Value struct {
	kind   valueKind
	number int64 // 0 unless kind is finite
}

// valueKind tells the three cases of a Value apart.
type valueKind uint8

const (
	unset valueKind = iota
	unlimited
	finite
)

// Finite returns the Value of a number. A negative number becomes 0.
func Finite(n int64) Value { return Value{finite, max(n, 0)} }

// Unlimited returns the Value that removes a limit.
func Unlimited() Value { return Value{kind: unlimited} }

// IsSet reports whether the Value is unlimited or a number.
func (v Value) IsSet() bool { return v.kind != unset }

// IsUnlimited reports whether the Value removes a limit.
func (v Value) IsUnlimited() bool { return v.kind == unlimited }

// Number returns the number of the Value. The result is false if the Value is unset or unlimited.
func (v Value) Number() (n int64, ok bool) { return v.number, v.kind == finite }

// Exceeds reports whether the Value is larger than a limit. Unlimited is larger than every number. An unset Value
// exceeds nothing, and nothing exceeds an unset limit.
func (v Value) Exceeds(limit Value) bool {
	switch {
	case v.kind == unset || limit.kind != finite:
		return false
	case v.kind == unlimited:
		return true
	}
	return v.number > limit.number
}

// String returns "unset", "unlimited" or the number.
func (v Value) String() string {
	switch v.kind {
	case unset:
		return "unset"
	case unlimited:
		return "unlimited"
	}
	return strconv.FormatInt(v.number, 10)
}
