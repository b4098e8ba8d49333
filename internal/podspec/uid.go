package podspec

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// MaxUIDLength is how many bytes a UID has at most.
const MaxUIDLength = 128

// UIDRule is the rule in words, for error messages. A UID becomes a part of the names of
// directories and files. Names with a leading dot belong to the packages: temporary files, and
// directories that are being removed. Every UID of an API server passes.
const UIDRule = "expected 1 to 128 letters, digits, '-', '_' and '.', beginning with a letter or digit"

// ErrInvalidUID is the error of CheckUID.
var ErrInvalidUID = errors.New("invalid UID")

// IsValidUID reports whether a UID meets the rule.
func IsValidUID(uid types.UID) bool {
	for i := range len(uid) {
		c := uid[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return 0 < len(uid) && len(uid) <= MaxUIDLength
}

// CheckUID returns nil for a UID that meets the rule, and otherwise an error that is
// ErrInvalidUID and says what the rule is.
func CheckUID(uid types.UID) error {
	if IsValidUID(uid) {
		return nil
	}
	return fmt.Errorf("%w %.50q: %s", ErrInvalidUID, string(uid), UIDRule)
}
