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
	// maxQuantityText is how long the text of a quantity may be.
	maxQuantityText = 64
	// maxExponentDigits bounds its exponent: reading and comparing quantities takes time
	// and memory in proportion to that.
	maxExponentDigits = 2
	// maxScale and maxQuantityBits bound a quantity that was made in Go; every text within
	// the bounds above is within these.
	maxScale, maxQuantityBits = 256, 1024
)

// ErrQuantity: a quantity is outside of what can be computed with.
var ErrQuantity = errors.New("expected a quantity of at most 64 characters, and an exponent of at most two digits")

// ParseQuantity is resource.ParseQuantity for text of bounded length and exponent. Of other
// text, such as 1e-2000000000, the error is ErrQuantity.
func ParseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantityText {
		return resource.Quantity{}, ErrQuantity
	}
	if e := strings.IndexAny(text, "eE"); e >= 0 && len(strings.TrimLeft(text[e+1:], "+-0")) > maxExponentDigits {
		return resource.Quantity{}, ErrQuantity
	}
	return resource.ParseQuantity(text)
}

// CheckQuantities returns an error, ErrQuantity, that names the first quantity of a pod that
// cannot be computed with, as one of 1e2000000000: to add, compare or round it would take
// all memory and time.
func CheckQuantities(pod *v1.Pod) error {
	if pod == nil || !anyQuantity(pod, func(q resource.Quantity) bool { return outside(q) != "" }) {
		return nil
	}
	if at := outOfRange(reflect.ValueOf(pod)); at != "" {
		return fmt.Errorf("%s %w", at[1:], ErrQuantity)
	}
	return nil
}

// outOfRange is the path of the first quantity in a value that is out of range, and a colon;
// "" if there is none.
func outOfRange(v reflect.Value) (at string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return outOfRange(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if at = outOfRange(v.Index(i)); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if at = outOfRange(it.Value()); at != "" {
				return fmt.Sprintf("[%v]%s", it.Key(), at)
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[resource.Quantity]() {
			return outside(v.Interface().(resource.Quantity))
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if at = outOfRange(v.Field(i)); at != "" {
					name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
					return strings.TrimSuffix("."+name, ".") + at
				}
			}
		}
	}
	return ""
}

// outside is ":" for a quantity that cannot be computed with. It is not written as text for
// that, which could take as long.
func outside(q resource.Quantity) string {
	if q == (resource.Quantity{}) {
		return ""
	}
	q = q.DeepCopy()
	if d := q.AsDec(); max(d.Scale(), -d.Scale()) > maxScale || d.UnscaledBig().BitLen() > maxQuantityBits {
		return ":"
	}
	return ""
}
