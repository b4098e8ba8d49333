package poduid

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// MaxLength is how many bytes a UID has at most.
const MaxLength = 128

// Rule is the rule in words, for error messages.
const Rule = "expected 1 to 128 letters, digits, '-', '_' and '.', beginning with a letter or digit"

// ErrInvalid is the error of Check.
var ErrInvalid = errors.New("invalid UID")

// Valid reports whether a UID meets the rule.
func Valid(uid types.UID) bool {
	for i := range len(uid) {
		c := uid[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return 0 < len(uid) && len(uid) <= MaxLength
}

// Check returns nil for a UID that meets the rule, and otherwise an error that is
// ErrInvalid and says what the rule is.
func Check(uid types.UID) error {
	if Valid(uid) {
		return nil
	}
	return fmt.Errorf("%w %.50q: %s", ErrInvalid, string(uid), Rule)
}
