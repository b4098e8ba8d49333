package eviction

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// AvailableOf returns limit less used, and 0 if more than the limit is used. A result above the largest int64 is
// that number. Without this a limit that shrinks below the usage would look like much free memory.
func AvailableOf(limit, used uint64) int64 {
	if used >= limit {
		return 0
	}
	return clampToInt64(limit - used)
}

// clampToInt64 converts a number to int64. A larger number becomes the largest int64.
func clampToInt64(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// addSaturating returns a + b of two numbers that are not negative, and the largest int64 if that is too large.
func addSaturating(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// valueSaturating returns a quantity, rounded up. For a quantity above an int64 it returns the largest int64, because
// Quantity.Value returns 0 or another number for it: a limit of 10E would count as 0.
func valueSaturating(q *resource.Quantity) int64 {
	if q.CmpInt64(math.MaxInt64) >= 0 {
		return math.MaxInt64
	}
	return q.Value()
}

// sumFigures returns the sum of the known figures. Unknown figures, which are nil, count as 0.
func sumFigures(figures ...*uint64) (sum int64) {
	for _, f := range figures {
		if f != nil {
			sum = addSaturating(sum, clampToInt64(*f))
		}
	}
	return sum
}

// quantityText returns an amount of a resource as the text of a quantity. Bytes have binary suffixes.
func quantityText(name v1.ResourceName, amount int64) string {
	format := resource.BinarySI
	if name == ResourceInodes || name == ResourcePIDs {
		format = resource.DecimalSI
	}
	return resource.NewQuantity(amount, format).String()
}
