package policy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// PodOfLogs returns the pod of a log directory with the name namespace_name_uid. It returns false
// for any other name.
func PodOfLogs(directory string) (types.UID, bool) {
	namespace, rest, _ := strings.Cut(directory, "_")
	name, uid, _ := strings.Cut(rest, "_") // Only a UID may contain more underscores.
	for _, part := range []string{namespace, name} {
		if part == "" || strings.HasPrefix(part, ".") || strings.ContainsAny(part, `/\`+"\x00") {
			return "", false
		}
	}
	if !podspec.IsValidUID(types.UID(uid)) {
		return "", false
	}
	return types.UID(uid), true
}

// AttemptOfLog returns the attempt number in the name of a log file: N.log, or a rotated file of
// it. It returns false for any other name.
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

// Logs defines how large the log of a running container may become before it is rotated, and how
// many files are kept. The zero value has the kubelet's defaults.
type Logs struct {
	// MaxBytes is the size at which a log is rotated. Default 10 MiB; negative disables rotation.
	MaxBytes int64
	// MaxFiles is how many files of one attempt are kept, including the current log: at least two.
	// Default 5; negative disables rotation.
	MaxFiles int
}

// The kubelet's defaults for logs.
const (
	// DefaultLogMaxBytes is the default of Logs.MaxBytes.
	DefaultLogMaxBytes = 10 << 20
	// DefaultLogMaxFiles is the default of Logs.MaxFiles.
	DefaultLogMaxFiles = 5
)

// Complete returns the policy with its defaults.
func (p Logs) Complete() Logs {
	p.MaxBytes = cmp.Or(p.MaxBytes, DefaultLogMaxBytes)
	p.MaxFiles = cmp.Or(p.MaxFiles, DefaultLogMaxFiles)
	return p
}

// IsDisabled reports whether no log is rotated.
func (p Logs) IsDisabled() bool { return p.MaxBytes < 0 || p.MaxFiles < 0 }

// LogFile is a file in the directory of a log, of the same attempt.
type LogFile struct {
	Name string
	// Live is true if the file is a second hard link of the log. An interrupted undo of a rotation
	// leaves such a link.
	Live bool
}

// Rotation is the plan for a log that is too large, in the order of the fields.
type Rotation struct {
	Remove   []string // useless files, and files beyond MaxFiles
	Name     string   // new name of the log
	Compress []string // oldest first
}

const (
	// timestampFormat is the format of the UTC time in the name of a rotated log. It sorts by time.
	timestampFormat  = "20060102-150405"
	compressedSuffix = ".gz"
	partialSuffix    = ".tmp"
	// maxRotationYear is the latest year in a valid name, so that a later name always exists.
	maxRotationYear = 9000
)

// Rotate plans the rotation of a log. files are the files of its attempt, in any order; files with
// other names are ignored. The new name is later than all existing names. So no file is
// overwritten, and the order of the names is the order of the contents, whatever the clock does.
func (p Logs) Rotate(log string, files []LogFile, now time.Time) (r Rotation) {
	var rotated []rotatedFile
	last := now.UTC().Truncate(time.Second)
	for _, f := range files {
		o, ok := parseRotatedFile(log, f.Name)
		if !ok {
			continue
		}
		if f.Live || o.suffix == partialSuffix {
			r.Remove = append(r.Remove, f.Name)
			continue
		}
		rotated = append(rotated, o)
		if !o.at.Before(last) {
			last = o.at.Add(time.Second)
		}
	}
	slices.SortStableFunc(rotated, func(a, b rotatedFile) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.suffix, b.suffix)) })
	rotated = r.planRemovalOfCompressedOriginals(rotated)
	many := max(len(rotated)-(p.MaxFiles-2), 0) // Two more files: the new log, and the current one under its new name.
	for i, o := range rotated {
		switch {
		case i < many:
			r.Remove = append(r.Remove, o.name)
		case o.suffix == "":
			r.Compress = append(r.Compress, o.name)
		}
	}
	slices.Sort(r.Remove)
	r.Name = log + "." + last.Format(timestampFormat)
	return r
}

// planRemovalOfCompressedOriginals adds to r.Remove the files whose compressed version exists, and returns the
// other files. It deletes nothing.
func (r *Rotation) planRemovalOfCompressedOriginals(rotated []rotatedFile) (remaining []rotatedFile) {
	for i, o := range rotated {
		if i+1 < len(rotated) && rotated[i+1].at.Equal(o.at) {
			r.Remove = append(r.Remove, o.name)
			continue
		}
		remaining = append(remaining, o)
	}
	return remaining
}

// rotatedFile is a file that a rotation has created.
type rotatedFile struct {
	name, suffix string
	at           time.Time
}

// parseRotatedFile parses the name of a rotated file of a log: the log's name, a timestamp, and an optional
// suffix of a complete or incomplete compressed file. It returns false for any other name.
func parseRotatedFile(log, name string) (rotatedFile, bool) {
	rest, ok := strings.CutPrefix(name, log+".")
	if !ok || len(rest) < len(timestampFormat) {
		return rotatedFile{}, false
	}
	at, err := time.Parse(timestampFormat, rest[:len(timestampFormat)])
	if err != nil {
		return rotatedFile{}, false
	}
	o := rotatedFile{name: name, suffix: rest[len(timestampFormat):], at: at}
	return o, at.Year() <= maxRotationYear && (o.suffix == "" || o.suffix == compressedSuffix || o.suffix == partialSuffix)
}

// Compressed returns the name of a compressed rotated file, and its temporary name until it is
// complete.
func Compressed(name string) (whole, part string) {
	return name + compressedSuffix, name + partialSuffix
}
