package policy

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/poduid"
)

// PodOfLogs is the pod whose logs are in a directory, by the directory's name:
// namespace_name_uid. False: it is none of ours, or no name that one could
// have.
func PodOfLogs(directory string) (types.UID, bool) {
	namespace, rest, _ := strings.Cut(directory, "_")
	name, uid, _ := strings.Cut(rest, "_") // Only a UID may have more of them.
	for _, part := range []string{namespace, name} {
		if part == "" || strings.HasPrefix(part, ".") || strings.ContainsAny(part, `/\`+"\x00") {
			return "", false
		}
	}
	if !poduid.Valid(types.UID(uid)) {
		return "", false
	}
	return types.UID(uid), true
}

// AttemptOfLog is the attempt at a container whose log is in a file, by the
// file's name: N.log, or what rotation has made of it. False: it is none of
// ours.
func AttemptOfLog(file string) (uint32, bool) {
	number, rest, ok := strings.Cut(file, ".")
	if !ok || rest != "log" && !strings.HasPrefix(rest, "log.") {
		return 0, false
	}
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != number {
		return 0, false
	}
	return uint32(n), true
}
