package podspec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MaxUIDLength is the maximum length of a UID in bytes.
const MaxUIDLength = 128

// UIDRule describes valid UIDs in error messages. A UID becomes part of the names of directories and files. Names with
// a leading dot are reserved for temporary files and for directories that are being removed. Every UID that an API
// server makes is valid.
const UIDRule = "expected 1 to 128 letters, digits, '-', '_' and '.', beginning with a letter or digit"

// ErrInvalidUID is wrapped by the errors of CheckUID.
var ErrInvalidUID = errors.New("invalid UID")

// IsValidUID reports whether a UID follows UIDRule.
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

// CheckUID returns an error that wraps ErrInvalidUID and contains UIDRule if the UID is invalid.
func CheckUID(uid types.UID) error {
	if IsValidUID(uid) {
		return nil
	}
	return fmt.Errorf("%w %.50q: %s", ErrInvalidUID, string(uid), UIDRule)
}

// UIDFromName returns a UID that depends on a namespace and a name alone. An empty namespace is "default".
func UIDFromName(namespace, name string) types.UID {
	sum := sha256.Sum256([]byte(cmp.Or(namespace, v1.NamespaceDefault) + "/" + name))
	return types.UID(hex.EncodeToString(sum[:16]))
}
