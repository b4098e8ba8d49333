package validation

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
