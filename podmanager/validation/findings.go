package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxErrors bounds the errors of one call: more than anybody reads, and little enough
// for a pod with a hundred thousand bad fields.
const maxErrors = 1000

// findings gathers errors. The checks are its methods, so that each can add as many as
// it finds.
type findings struct {
	errs   field.ErrorList
	unread []string // the fields of which the pod lacks the value
}

func (f *findings) add(kind field.ErrorType, at *field.Path, value any, format string, args ...any) {
	if len(f.errs) >= maxErrors {
		return
	}
	if f.isRead(at) {
		f.errs = append(f.errs, &field.Error{Type: kind, Field: at.String(), BadValue: value, Detail: fmt.Sprintf(format, args...)})
	}
}

// isRead reports whether a value is what its author wrote, and whole.
func (f *findings) isRead(at *field.Path) bool {
	if len(f.unread) == 0 {
		return true
	}
	path := at.String()
	return !slices.ContainsFunc(f.unread, func(u string) bool { return within(path, u) || within(u, path) })
}

// required adds that there is no value.
func (f *findings) required(at *field.Path, format string, args ...any) {
	f.add(field.ErrorTypeRequired, at, "", format, args...)
}

// forbidden adds that there is a value where there must be none.
func (f *findings) forbidden(at *field.Path, format string, args ...any) {
	f.add(field.ErrorTypeForbidden, at, "", format, args...)
}

// invalid adds that a value breaks a rule.
func (f *findings) invalid(at *field.Path, value any, format string, args ...any) {
	f.add(field.ErrorTypeInvalid, at, value, format, args...)
}

// unsupported adds that a value is not one of those that there are.
func (f *findings) unsupported(at *field.Path, value any, format string, args ...any) {
	f.add(field.ErrorTypeNotSupported, at, value, format, args...)
}

// duplicate adds that an earlier item has the same value.
func (f *findings) duplicate(at *field.Path, value any, format string, args ...any) {
	f.add(field.ErrorTypeDuplicate, at, value, format, args...)
}

// notFound adds that a value names something that the pod does not have.
func (f *findings) notFound(at *field.Path, value any, format string, args ...any) {
	f.add(field.ErrorTypeNotFound, at, value, format, args...)
}

// whole adds an error whose detail is the whole sentence: to show the value would not
// help.
func (f *findings) whole(kind field.ErrorType, at *field.Path, format string, args ...any) {
	f.add(kind, at, field.OmitValueType{}, format, args...)
}

// ifRead is for an error that depends on the values of other fields too: it is dropped
// if one of those could not be read.
func (f *findings) ifRead(needs ...*field.Path) *findings {
	for _, n := range needs {
		if !f.isRead(n) {
			return &findings{}
		}
	}
	return f
}

// within reports whether a field is another one or a part of it. The empty one is the
// pod.
func within(path, whole string) bool {
	rest, ok := strings.CutPrefix(path, whole)
	return ok && (rest == "" || whole == "" || rest[0] == '.' || rest[0] == '[')
}
