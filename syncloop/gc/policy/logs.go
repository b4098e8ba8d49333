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
	if !podspec.IsValidUID(types.UID(uid)) {
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

// Logs says how large the log of a running container may get before another file
// takes its place, and how many files there are of it. The zero value has the
// kubelet's numbers.
type Logs struct {
	// MaxBytes is the size from which a log is rotated. Default 10 MiB; negative is
	// never.
	MaxBytes int64
	// MaxFiles is how many files there are of one attempt, the one that is written
	// to included: at least two. Default 5; negative is never, too.
	MaxFiles int
}

// The kubelet's numbers for logs.
const (
	// DefaultLogMaxBytes is Logs.MaxBytes if that is zero.
	DefaultLogMaxBytes = 10 << 20
	// DefaultLogMaxFiles is Logs.MaxFiles if that is zero.
	DefaultLogMaxFiles = 5
)

// Complete is the policy with its defaults.
func (p Logs) Complete() Logs {
	p.MaxBytes = cmp.Or(p.MaxBytes, DefaultLogMaxBytes)
	p.MaxFiles = cmp.Or(p.MaxFiles, DefaultLogMaxFiles)
	return p
}

// Never reports whether no log is rotated.
func (p Logs) Never() bool { return p.MaxBytes < 0 || p.MaxFiles < 0 }

// LogFile is a file beside a log, of the same attempt.
type LogFile struct {
	Name string
	// Live: it is the log itself, under one more name, as the undoing of a rotation
	// leaves it that was cut short.
	Live bool
}

// Rotation is what is done about a log that has become too large, in the order of
// the fields.
type Rotation struct {
	Remove   []string // of no use, or too many
	Name     string   // what the log is called from now on
	Compress []string // the oldest first
}

const (
	// stamp is how the time of a rotation is written, in UTC: so names are in the
	// order of rotations.
	stamp      = "20060102-150405"
	compressed = ".gz"
	unfinished = ".tmp"
	// lastYear is of which rotations can be, so that there is a later name.
	lastYear = 9000
)

// Rotate says what is done about the log of that name. The files are those of its
// attempt, in any order; what rotation does not give such a name is not a log of ours,
// and stays. The new name is later than every name there is, so that no file is written
// over and their order is that of what is in them, whatever the clock does.
func (p Logs) Rotate(log string, files []LogFile, now time.Time) (r Rotation) {
	var rotated []old
	last := now.UTC().Truncate(time.Second)
	for _, f := range files {
		o, ok := oldOf(log, f.Name)
		if !ok {
			continue
		}
		if f.Live || o.suffix == unfinished {
			r.Remove = append(r.Remove, f.Name)
			continue
		}
		rotated = append(rotated, o)
		if !o.at.Before(last) {
			last = o.at.Add(time.Second)
		}
	}
	slices.SortStableFunc(rotated, func(a, b old) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.suffix, b.suffix)) })
	rotated = r.settle(rotated)
	many := max(len(rotated)-(p.MaxFiles-2), 0) // There will be the log, and what it is now.
	for i, o := range rotated {
		switch {
		case i < many:
			r.Remove = append(r.Remove, o.name)
		case o.suffix == "":
			r.Compress = append(r.Compress, o.name)
		}
	}
	slices.Sort(r.Remove)
	r.Name = log + "." + last.Format(stamp)
	return r
}

// settle drops what has been compressed, and was not removed then.
func (r *Rotation) settle(rotated []old) (settled []old) {
	for i, o := range rotated {
		if i+1 < len(rotated) && rotated[i+1].at.Equal(o.at) {
			r.Remove = append(r.Remove, o.name)
			continue
		}
		settled = append(settled, o)
	}
	return settled
}

// old is a file that a rotation has made.
type old struct {
	name, suffix string
	at           time.Time
}

func oldOf(log, name string) (old, bool) {
	rest, ok := strings.CutPrefix(name, log+".")
	if !ok || len(rest) < len(stamp) {
		return old{}, false
	}
	at, err := time.Parse(stamp, rest[:len(stamp)])
	if err != nil {
		return old{}, false
	}
	o := old{name: name, suffix: rest[len(stamp):], at: at}
	return o, at.Year() <= lastYear && (o.suffix == "" || o.suffix == compressed || o.suffix == unfinished)
}

// Compressed is the name of a rotated file once it has been compressed, and what
// it is called until it is whole.
func Compressed(name string) (whole, part string) { return name + compressed, name + unfinished }
