package contain

import "slices"

// ErrorParts returns the errors that an error wraps, without nils.
func ErrorParts(err error) []error {
	var parts []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		parts = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		parts = e.Unwrap()
	case interface{ Errors() []error }:
		parts = e.Errors()
	}
	if slices.Contains(parts, nil) {
		parts = slices.DeleteFunc(slices.Clone(parts), func(part error) bool { return part == nil })
	}
	return parts
}

// AsType finds the first error of a type, as errors.AsType does, but also in aggregates.
func AsType[T any](err error) (found T, ok bool) {
	if err == nil {
		return found, false
	}
	if found, ok = err.(T); ok {
		return found, true
	}
	if e, has := err.(interface{ As(any) bool }); has && e.As(&found) {
		return found, true
	}
	for _, part := range ErrorParts(err) {
		if found, ok = AsType[T](part); ok {
			return found, true
		}
	}
	return found, false
}
