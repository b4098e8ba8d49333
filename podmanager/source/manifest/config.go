package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"strings"
	"time"

	k8svalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/plain"
)

// ErrConfig is what every fault of a Config is.
var ErrConfig = errors.New("manifest: bad config")

// Config says where the manifests are and whose pods they are.
type Config struct {
	// Path is a directory, whose files are all manifests, or one file. It is
	// made absolute, and is part of the identity of the pods. If it is a
	// symbolic link it is followed.
	Path string
	// FS, if not nil, is read instead of the operating system's files; Path
	// is then a path in it (".": all of it). It is not watched, only polled.
	FS fs.FS
	// NodeName is made lower case and appended to the names of the pods.
	NodeName string
	// Objects says that the node can find ConfigMaps and Secrets without an API
	// server, so that static pods may refer to them. Otherwise one that does is
	// a fault of its file.
	Objects bool
	// Period is how often everything is read again, changes announced or not.
	// 0 is 20 seconds, as in the kubelet.
	Period time.Duration
	// ReadTimeout bounds one read of one file, or of the directory. 0 is 5
	// seconds. A file that takes longer counts as unreadable until its read
	// returns; the others are not held up.
	ReadTimeout time.Duration
	// MaxFiles bounds how many names a directory may have, of all kinds. One
	// with more cannot be listed, so nothing changes. 0 is 10,000.
	MaxFiles int
	// MaxMemory bounds what the pods of all files take together, in bytes. A file
	// for which there is no room is a bad one, until there is. 0 is 256 MiB.
	MaxMemory int64
	// Clock is for the period and the pauses. nil is the real one. The
	// system's reads are timed by the real one always.
	Clock clock.Clock
	// Log takes what people should know. nil discards.
	Log *slog.Logger
	// Report, if not nil, is called with every problem, once for each file
	// and content, by the goroutine in Scan or Run, one call at a time. It must
	// not block.
	Report func(Problem)
}

// complete fills in the defaults and names every fault.
func (c *Config) complete() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
	c.NodeName = strings.ToLower(c.NodeName)
	if c.NodeName == "" {
		fault("NodeName is empty")
	} else if len(k8svalidation.IsDNS1123Subdomain(c.NodeName)) > 0 {
		fault("NodeName %s: expected at most 253 lower case letters, digits, '-' and '.', with a letter or digit at both ends of each part", plain.Quote(c.NodeName))
	}
	if err := c.completePath(); err != nil {
		fault("%v", err)
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{{"Period", &c.Period, 20 * time.Second}, {"ReadTimeout", &c.ReadTimeout, 5 * time.Second}} {
		if *d.value < 0 {
			fault("%s is negative", d.name)
		}
		if *d.value == 0 {
			*d.value = d.usual
		}
	}
	if c.MaxFiles < 0 {
		fault("MaxFiles is negative")
	}
	if c.MaxFiles == 0 {
		c.MaxFiles = 10_000
	}
	if c.MaxMemory < 0 {
		fault("MaxMemory is negative")
	}
	if c.MaxMemory == 0 {
		c.MaxMemory = 256 << 20
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Report == nil {
		c.Report = func(Problem) {}
	}
	return errors.Join(faults...)
}

func (c *Config) completePath() error {
	if c.Path == "" {
		return errors.New("Path is empty")
	}
	if c.FS != nil {
		c.Path = path.Clean(filepath.ToSlash(c.Path))
		if !fs.ValidPath(c.Path) {
			return fmt.Errorf("Path %s is not a path in an fs.FS", plain.Quote(c.Path))
		}
		return nil
	}
	abs, err := filepath.Abs(c.Path)
	if err != nil {
		return fmt.Errorf("Path: %w", err)
	}
	c.Path = abs
	return nil
}
