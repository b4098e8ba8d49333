package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
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

// rule is what a name of some kind has to be: the test is the library's, the
// sentence ours, since people read it.
type rule struct {
	complaints func(string) []string
	expected   string
}

var (
	dnsLabel = rule{validation.IsDNS1123Label,
		"at most 63 lower case letters, digits and '-', with a letter or digit at both ends"}
	dnsSubdomain = rule{validation.IsDNS1123Subdomain,
		"at most 253 lower case letters, digits, '-' and '.', with a letter or digit at both ends of each part"}
	portName = rule{validation.IsValidPortName,
		"at most 15 lower case letters, digits and single '-', at least one letter, and no '-' at either end"}
	envName = rule{validation.IsRelaxedEnvVarName,
		"printable ASCII without '='"}
	headerName = rule{validation.IsHTTPHeaderName,
		"letters, digits and '-'"}
	qualifiedName = rule{validation.IsQualifiedName,
		"at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, after a domain and '/' if any"}
	labelValue = rule{validation.IsValidLabelValue,
		"nothing, or at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"}
)

// named wants a name that keeps a rule.
func (f *findings) named(at *field.Path, name string, r rule) {
	if name == "" {
		f.required(at, "expected a name")
		return
	}
	f.keeps(at, name, r)
}

// keeps wants a text that keeps a rule.
func (f *findings) keeps(at *field.Path, s string, r rule) {
	if len(r.complaints(s)) > 0 {
		f.invalid(at, s, "expected %s", r.expected)
	}
}
