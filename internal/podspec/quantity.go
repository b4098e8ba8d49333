package podspec

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxQuantityText is the maximum length of the text of a quantity.
	maxQuantityText = 64
	// maxExponentDigits bounds the exponent. Parsing and comparing a quantity takes time and memory in proportion to
	// the value of the exponent.
	maxExponentDigits = 2
	// maxScale and maxQuantityBits bound a quantity that was made in Go. A text within the bounds above is also within
	// these.
	maxScale, maxQuantityBits = 256, 1024
)

// ErrQuantity means that a quantity is too long or too large to compute with.
var ErrQuantity = errors.New("expected a quantity of at most 64 characters, and an exponent of at most two digits")

// ParseQuantity is resource.ParseQuantity with bounds on the length and the exponent. For text beyond the bounds, such
// as 1e-2000000000, the error is ErrQuantity.
func ParseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantityText {
		return resource.Quantity{}, ErrQuantity
	}
	if e := strings.IndexAny(text, "eE"); e >= 0 && len(strings.TrimLeft(text[e+1:], "+-0")) > maxExponentDigits {
		return resource.Quantity{}, ErrQuantity
	}
	return resource.ParseQuantity(text)
}

// CheckQuantities returns an error that wraps ErrQuantity and names the first quantity of a pod that cannot be computed
// with, such as 1e2000000000. Adding, comparing or rounding it would take all memory and minutes.
func CheckQuantities(pod *v1.Pod) error {
	if pod == nil || !specOrStatusHasQuantityOrUncheckable(pod, func(q resource.Quantity) bool { return colonIfTooLarge(q) != "" }) {
		return nil
	}
	if at := pathOfTooLargeQuantity(reflect.ValueOf(pod)); at != "" {
		return fmt.Errorf("%s %w", at[1:], ErrQuantity)
	}
	return nil
}

// pathOfTooLargeQuantity returns the path of the first quantity in v whose exponent or number of digits is too
// large to compute with. The path ends with a colon. It returns "" if v has no such quantity.
func pathOfTooLargeQuantity(v reflect.Value) (path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return pathOfTooLargeQuantity(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if path = pathOfTooLargeQuantity(v.Index(i)); path != "" {
				return fmt.Sprintf("[%d]%s", i, path)
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if path = pathOfTooLargeQuantity(it.Value()); path != "" {
				return fmt.Sprintf("[%v]%s", it.Key(), path)
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[resource.Quantity]() {
			return colonIfTooLarge(v.Interface().(resource.Quantity))
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if path = pathOfTooLargeQuantity(v.Field(i)); path != "" {
					name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
					return strings.TrimSuffix("."+name, ".") + path
				}
			}
		}
	}
	return ""
}

// colonIfTooLarge returns ":" for a quantity whose exponent or number of digits is too large to compute with.
// It returns "" for any other quantity. It does not format the quantity, because formatting could take as long
// as computing.
func colonIfTooLarge(q resource.Quantity) string {
	if q == (resource.Quantity{}) {
		return ""
	}
	q = q.DeepCopy()
	if d := q.AsDec(); max(d.Scale(), -d.Scale()) > maxScale || d.UnscaledBig().BitLen() > maxQuantityBits {
		return ":"
	}
	return ""
}
