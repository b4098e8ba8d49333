package metrics

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Remembered returns the UIDs of the tracked pods.
func Remembered(m *Metrics) (uids []string) {
	m.pods.known.Range(func(uid, _ any) bool {
		uids = append(uids, string(uid.(types.UID)))
		return true
	})
	slices.Sort(uids)
	return uids
}
