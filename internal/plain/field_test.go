package plain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/plain"
)

// TestFields: a line has the value, if that helps, and the expected value. The number and the length of lines are
// bounded.
func TestFields(t *testing.T) {
	at := field.NewPath("spec", "a")
	assert.Equal(t, strings.Join([]string{
		`spec.a: missing: expected a name`,
		`spec.a: set: expected none`,
		`spec.a: "x": expected y`,
		`spec.a: 5: expected 6`,
		`spec.a: "": expected y`,
		`spec.a: both are set`,
		`"spec.a[\n]": 5: expected 6`,
		`spec.a["]: 5: expected 6`,
		`spec.a[` + strings.Repeat("k", 249) + `...: 5: expected 6`,
		`spec.a: "` + strings.Repeat("v", 64) + `"...: expected y`,
	}, "\n"), plain.Fields(field.ErrorList{
		field.Required(at, "expected a name"),
		field.Forbidden(at, "expected none"),
		field.Invalid(at, "x", "expected y"),
		field.Invalid(at, 5, "expected 6"),
		field.Invalid(at, "", "expected y"),
		{Type: field.ErrorTypeForbidden, Field: "spec.a", BadValue: field.OmitValueType{}, Detail: "both are set"},
		field.Invalid(at.Key("\n"), 5, "expected 6"),
		field.Invalid(at.Key(`"`), 5, "expected 6"),
		field.Invalid(at.Key(strings.Repeat("k", 300)), 5, "expected 6"),
		field.Invalid(at, strings.Repeat("v", 65), "expected y"),
	}))
}

// TestFields_ManyFaults: fifty errors are listed, and a line says that there are more.
func TestFields_ManyFaults(t *testing.T) {
	errs := make(field.ErrorList, plain.MaxFaults)
	for i := range errs {
		errs[i] = field.Invalid(field.NewPath("a").Index(i), i, "b")
	}
	lines := strings.Split(plain.Fields(errs), "\n")
	assert.Len(t, lines, 50)
	assert.Equal(t, "a[49]: 49: b", lines[49])
	lines = strings.Split(plain.Fields(append(errs, errs[0])), "\n")
	assert.Len(t, lines, 51)
	assert.Equal(t, "and more, 51 faults at least", lines[50])
}

func TestQuote(t *testing.T) {
	long := strings.Repeat("ü", 40)
	assert.Equal(t, `"a\n"`, plain.Quote("a\n"))
	assert.Equal(t, `"`+strings.Repeat("ü", 32)+`"...`, plain.Quote(long))
	assert.Equal(t, strings.Repeat("x", 64), plain.Shorten(strings.Repeat("x", 64)))
	assert.Equal(t, strings.Repeat("x", 64)+"...", plain.Shorten(strings.Repeat("x", 65)))
	assert.Equal(t, "x"+strings.Repeat("ü", 31)+"...", plain.Shorten("x"+long), "no half characters")
	assert.Equal(t, "...", plain.Shorten(strings.Repeat("\x80", 65)), "no beginning of a character at all")
}

// A path of 256 bytes is shown in full.
func TestFields_LongPath(t *testing.T) {
	show := func(n int) string {
		return plain.Fields(field.ErrorList{field.Invalid(field.NewPath(strings.Repeat("p", n)), 1, "b")})
	}
	assert.Equal(t, strings.Repeat("p", 256)+": 1: b", show(256))
	assert.Equal(t, strings.Repeat("p", 256)+"...: 1: b", show(257))
}
