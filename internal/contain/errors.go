package contain

// ErrorParts are the errors that an error is made of, without nils; none for a leaf.
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
	for i, part := range parts {
		if part == nil {
			return withoutNils(parts, i)
		}
	}
	return parts
}

// withoutNils copies parts, the first nil of which is known.
func withoutNils(parts []error, first int) []error {
	rest := append([]error(nil), parts[:first]...)
	for _, part := range parts[first:] {
		if part != nil {
			rest = append(rest, part)
		}
	}
	return rest
}

// AsType finds the first error of a type, as errors.AsType does, in aggregates too.
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
