package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// PodOfLogs is the pod whose logs are in a directory, by the directory's name:
// namespace_name_uid. False: it is none of ours, or no name that one could
// have (GC-8).
func PodOfLogs(directory string) (types.UID, bool) {
	parts := strings.Split(directory, "_")
	if len(parts) != 3 || strings.ContainsAny(directory, `/\`+"\x00") {
		return "", false
	}
	for _, part := range parts {
		if part == "" || strings.HasPrefix(part, ".") {
			return "", false
		}
	}
	return types.UID(parts[2]), true
}
