package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxErrors is the maximum number of errors that one call returns. It bounds the memory for a pod
// with a hundred thousand bad fields.
const maxErrors = 1000

// findings collects errors. The checks are its methods, so that each can add any number of errors.
type findings struct {
	errs   field.ErrorList
	unread []string // the fields whose values could not be read
}

// addError adds an error, unless the value of the field could not be read or there are maxErrors errors
// already.
func (f *findings) addError(kind field.ErrorType, at *field.Path, value any, format string, args ...any) {
	if len(f.errs) >= maxErrors {
		return
	}
	if f.isFieldRead(at) {
		f.errs = append(f.errs, &field.Error{Type: kind, Field: at.String(), BadValue: value, Detail: fmt.Sprintf(format, args...)})
	}
}

// isFieldRead reports whether the value of a field could be read. It returns false if the field, a field around
// it or a field inside it could not be read.
func (f *findings) isFieldRead(at *field.Path) bool {
	if len(f.unread) == 0 {
		return true
	}
	path := at.String()
	return !slices.ContainsFunc(f.unread, func(u string) bool { return isFieldPathWithin(path, u) || isFieldPathWithin(u, path) })
}

// addRequired adds an error of type Required: the value of the field is missing.
func (f *findings) addRequired(at *field.Path, format string, args ...any) {
	f.addError(field.ErrorTypeRequired, at, "", format, args...)
}

// addForbidden adds an error of type Forbidden: the field must not be set here.
func (f *findings) addForbidden(at *field.Path, format string, args ...any) {
	f.addError(field.ErrorTypeForbidden, at, "", format, args...)
}

// addInvalid adds an error of type Invalid: the value breaks a rule.
func (f *findings) addInvalid(at *field.Path, value any, format string, args ...any) {
	f.addError(field.ErrorTypeInvalid, at, value, format, args...)
}

// addNotSupported adds an error of type NotSupported: the value is none of the allowed values.
func (f *findings) addNotSupported(at *field.Path, value any, format string, args ...any) {
	f.addError(field.ErrorTypeNotSupported, at, value, format, args...)
}

// addDuplicate adds an error of type Duplicate: an earlier item has the same value.
func (f *findings) addDuplicate(at *field.Path, value any, format string, args ...any) {
	f.addError(field.ErrorTypeDuplicate, at, value, format, args...)
}

// addNotFound adds an error of type NotFound: the value names a thing that the pod does not have.
func (f *findings) addNotFound(at *field.Path, value any, format string, args ...any) {
	f.addError(field.ErrorTypeNotFound, at, value, format, args...)
}

// addWithoutValue adds an error of the given type whose message does not show the value of the field.
func (f *findings) addWithoutValue(kind field.ErrorType, at *field.Path, format string, args ...any) {
	f.addError(kind, at, field.OmitValueType{}, format, args...)
}

// onlyIfRead returns f if all neededFields could be read. If not, it returns other findings, which the caller
// drops. An error that depends on an unread field is therefore not reported.
func (f *findings) onlyIfRead(neededFields ...*field.Path) *findings {
	for _, n := range neededFields {
		if !f.isFieldRead(n) {
			return &findings{}
		}
	}
	return f
}

// isFieldPathWithin reports whether a field path equals whole or is inside it. An empty whole is the pod, which
// contains every path.
func isFieldPathWithin(path, whole string) bool {
	rest, ok := strings.CutPrefix(path, whole)
	return ok && (rest == "" || whole == "" || rest[0] == '.' || rest[0] == '[')
}

// textFormat is a format that a name must have. The test comes from apimachinery; expected is our
// sentence for people.
type textFormat struct {
	validate func(string) []string
	expected string
}

var (
	dnsLabelFormat = textFormat{validation.IsDNS1123Label,
		"at most 63 lower case letters, digits and '-', with a letter or digit at both ends"}
	dnsSubdomainFormat = textFormat{validation.IsDNS1123Subdomain,
		"at most 253 lower case letters, digits, '-' and '.', with a letter or digit at both ends of each part"}
	portNameFormat = textFormat{validation.IsValidPortName,
		"at most 15 lower case letters, digits and single '-', at least one letter, and no '-' at either end"}
	envNameFormat = textFormat{validation.IsRelaxedEnvVarName,
		"printable ASCII without '='"}
	headerNameFormat = textFormat{validation.IsHTTPHeaderName,
		"letters, digits and '-'"}
	qualifiedNameFormat = textFormat{validation.IsQualifiedName,
		"at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, after a domain and '/' if any"}
	labelValueFormat = textFormat{validation.IsValidLabelValue,
		"nothing, or at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"}
)

// requireName adds an error if a name is empty or does not have the format.
func (f *findings) requireName(at *field.Path, name string, format textFormat) {
	if name == "" {
		f.addRequired(at, "expected a name")
		return
	}
	f.checkFormat(at, name, format)
}

// checkFormat adds an error if a text does not have the format. Whether an empty text is valid depends on the
// format.
func (f *findings) checkFormat(at *field.Path, s string, format textFormat) {
	if len(format.validate(s)) > 0 {
		f.addInvalid(at, s, "expected %s", format.expected)
	}
}
